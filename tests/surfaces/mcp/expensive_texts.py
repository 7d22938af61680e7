"""Texts with far more tokens than English of their length."""

import base64
import hashlib
import json
import random
import string

_RANDOM = random.Random(7)


def _below(most: int) -> int:
    return _RANDOM.randrange(most)


def _log() -> str:
    return (
        f"2026-10-{10 + _below(20)}T10:{10 + _below(50)}:07.{_below(999):03}Z "
        f"[{_RANDOM.choice(['INFO', 'WARN', 'DEBUG'])}] 10.0.{_below(256)}.{_below(256)} "
        f'"GET /api/v1/users/{_below(99_999)} HTTP/1.1" 200 {_below(9_999)} tid=0x{_below(2**32):08x}'
    )


def _hunk() -> str:
    first, second = _below(999), _below(999)
    return f"@@ -{first},7 +{second},9 @@\n-    total{first} = {second}\n+    total[{first}] = rows[{second}] or 0"


def _row() -> str:
    return f"| {_below(999)} | item {_below(99)} | {_RANDOM.random() * 99:.2f} | ok |"


EXPENSIVE = {
    "base64": base64.b64encode(_RANDOM.randbytes(2_000)).decode(),
    "base64 in lines": base64.encodebytes(_RANDOM.randbytes(2_000)).decode(),
    "hex": _RANDOM.randbytes(1_500).hex(),
    "hashes": "\n".join(hashlib.sha256(_RANDOM.randbytes(4)).hexdigest() for _ in range(40)),
    "diff": "\n".join(_hunk() for _ in range(60)),
    "log": "\n".join(_log() for _ in range(40)),
    "table": "\n".join(_row() for _ in range(80)),
    "numbers": "\n".join(",".join(f"{_RANDOM.random() * 999:.4f}" for _ in range(8)) for _ in range(50)),
    "json": json.dumps([{"id": number, "ok": True, "v": [number, 7]} for number in range(90)]),
    "punctuation": "".join(_RANDOM.choice(string.punctuation) for _ in range(1_500)),
    "short lines": "\n".join(_RANDOM.choice("abcdefgh") for _ in range(600)),
    "lines of another system": "a\r\nb\r\n" * 300,
    "control": "".join(chr(_RANDOM.choice([*range(1, 9), *range(14, 32)])) for _ in range(700)),
    "quoted": json.dumps('say "a\\b"\n\tor \x07' * 80),
    "Chinese": "委员会上周四在北京开会,王小明认为年度预算应该在夏季休会之前获得批准;没有人反对。" * 20,
    "Japanese": "委員会は先週の木曜日に東京で会議を開き、田中さんはデータベースの移行を延期しました。" * 20,
    "Korean": "위원회는 지난 목요일 서울에서 회의를 열었고 데이터베이스 마이그레이션이 검토되지 않았다. " * 20,
    "Thai": "คณะกรรมการประชุมที่กรุงเทพเมื่อวันพฤหัสบดีที่แล้วและเห็นว่างบประมาณควรได้รับการอนุมัติ" * 12,
    "Hindi": "समिति की बैठक पिछले गुरुवार को दिल्ली में हुई और वार्षिक बजट को मंजूरी दी गई। " * 12,
    "Khmer": "គណៈកម្មាធិការបានប្រជុំនៅភ្នំពេញកាលពីថ្ងៃព្រហស្បតិ៍មុន" * 12,
    "Arabic": "اجتمعت اللجنة في القاهرة يوم الخميس الماضي وقال أحمد إن الميزانية يجب أن تتم الموافقة عليها " * 12,
    "Russian": "Комитет собрался в Москве в прошлый четверг, и Иван утверждал бюджет до летних каникул. " * 12,
    "Greek": "επιτροπή συνεδρίασε στην Αθήνα την περασμένη Πέμπτη και υποστήριξε ότι συμφωνεί. " * 12,
    "emoji": "".join(chr(_RANDOM.choice([*range(0x1F600, 0x1F640), *range(0x1F900, 0x1F9FF)])) for _ in range(400)),
    "families": "👨\u200d👩\u200d👧 👩🏽\u200d💻 ❤\ufe0f 🇩🇪 " * 60,
}
"""The texts by kind."""
