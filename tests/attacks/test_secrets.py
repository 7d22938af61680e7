"""Secrets in the formats of many services, and hidden ones, never reach a store; hashes and numbers stay.

The secrets are invented, and assembled at run time so that no scanner takes this file for a leak.
"""

import base64
import hashlib
import random
import re
import string
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrubjay.app import open_engine
from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.model.requests import AddSynonymsRequest, AttachFileRequest, BranchRequest, CreateTokenRequest
from scrubjay.settings import Settings
from scrubjay.text.screening.secrets import redact

_RANDOM = random.Random(19)
_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + "234567"


def random_text(length: int, alphabet: str = _LETTERS) -> str:
    """Return random characters with a lower-case letter, a capital and a digit, where the alphabet has them."""
    start = "".join(
        next(c for c in alphabet if c in kind) for kind in ("abc", "ABC", "234") if set(kind) & set(alphabet)
    )
    return start + "".join(_RANDOM.choice(alphabet) for _ in range(length - len(start)))


GITHUB, ANTHROPIC, AWS = (
    "ghp" + "_" + random_text(36),
    "sk-" + "ant-api03-" + random_text(60),
    "AK" + "IA" + random_text(16, _UPPER),
)
LOGIN = base64.b64encode(b"ann:" + b"Sup3rS3cret").decode()
DASHED = f"{_LETTERS}_-"
# What is stored, with the secret that must not be.
FORMATS = {
    "telegram": ("our bot is {}", "8123456789:AA" + random_text(33, DASHED)),
    "telegram-address": ("https://api.telegram.org/bot{}/getMe", "81234567:" + random_text(35, DASHED)),
    "discord": ("it uses {}", "MTk4" + random_text(21) + "." + random_text(6) + "." + random_text(27, DASHED)),
    "discord-long": ("{}", "N" + random_text(23) + "." + random_text(6) + "." + random_text(38, DASHED)),
    "azure-sas": ("https://a.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig={}", random_text(43) + "%3D"),
    "azure-ad": ("the app's value is {} until May", random_text(3) + "8Q~" + random_text(34)),
    "azure-storage": ("AccountName=shop;AccountKey={};EndpointSuffix=core", random_text(86) + "=="),
    "airtable": ("{}", "pat" + random_text(14) + "." + random_text(64, _HEX)),
    "airtable-old": ("the Airtable base opens with {}", "key" + random_text(14)),
    "okta": ("{}", "00" + random_text(40, DASHED)),
    "okta-header": ("Authorization: SSWS {}", "00" + random_text(40)),
    "terraform": ('credentials "app" { value = "{}" }', random_text(14) + ".atlasv1." + random_text(67, DASHED)),
    "facebook": ("{}", "EAAC" + random_text(120)),
    "facebook-app": ("{}", "123456789012345|" + random_text(27, DASHED)),
    "mailchimp": ("{}", random_text(32, _HEX) + "-us14"),
    "docker-auth": ('{"auths": {"index.docker.io": {"auth": "{}"}}}', LOGIN),
    "npm-auth": ("//registry.example/:_auth={}", LOGIN),
    "basic-auth": ("send Basic {} as the header", LOGIN),
    "cookie": ("Cookie: theme=dark; session={}; page=2", random_text(32)),
    "set-cookie": ("Set-Cookie: sid={}; Path=/; HttpOnly", random_text(24)),
    "session-cookie": ("PHPSESSID={}", random_text(26, _HEX + "xyz")),
    "pgpass": ("db.example.com:5432:shop:ann:{}", "tr0ub4dor"),
    "pgpass-any": ("# ~/.pgpass\n*:*:*:postgres:{}\n", "rosebudx"),
    "netrc": ("machine api.example.com login ann password {}", "rosebud"),
    "mysql": ("mysql -u root -p{} shop", "Hunter22x"),
    "sshpass": ("sshpass -p {} ssh ann@host", "rosebudx"),
    "tailscale": ("{}", "tskey-" + "auth-" + random_text(12) + "-" + random_text(30)),
    "pulumi": ("{}", "pul-" + random_text(40, _HEX)),
    "rubygems": ("{}", "rubygems_" + random_text(48, _HEX)),
    "gitlab-runner": ("{}", "GR1348941" + random_text(20)),
    "brevo": ("{}", "xkeysib-" + random_text(64, _HEX) + "-" + random_text(16)),
    "bitbucket": ("{}", "ATBB" + random_text(32)),
    "hubspot": ("{}", "pat-na1-" + str(uuid.UUID(int=_RANDOM.getrandbits(128)))),
    "nvidia": ("{}", "nvapi-" + random_text(60)),
    "ssh2": (
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
        random_text(64) + "\n" + random_text(40),
    ),
    "glued-to-a-letter": ("token{}", GITHUB),
    "glued-to-an-underscore": ("MY_{}", AWS),
    "glued-to-a-dash": ("prod-{}", ANTHROPIC),
    "markdown": ("the key is {}", GITHUB.replace("_", "\\_")),
    "markdown-dashes": ("{}", ANTHROPIC.replace("-", "\\-")),
    "percent": ("https://x.example/?next={}", GITHUB.replace("_", "%5F")),
    "percent-all": ("{}", "".join(f"%{ord(letter):02X}" for letter in AWS)),
    "json": ('"{}"', "".join(f"\\u{ord(letter):04x}" for letter in AWS)),
    "html": ("{}", "".join(f"&#{ord(letter)};" for letter in AWS)),
    "wrapped": ("the key is\n{}\nand the rest", f"{GITHUB[:20]}\n{GITHUB[20:]}"),
    "wrapped-and-indented": ("    {}\n", f"{GITHUB[:24]}\n    {GITHUB[24:]}"),
    "wrapped-in-a-quotation": ("> {}", f"{ANTHROPIC[:50]}\n> {ANTHROPIC[50:]}"),
    "continued": ("export K={}", f"{ANTHROPIC[:40]}\\\n{ANTHROPIC[40:]}"),
    "zero-width": ("{}", f"{GITHUB[:10]}\u200b{GITHUB[10:]}"),
    "zero-width-everywhere": ("{}", "\u200b".join(AWS)),
    "soft-hyphen": ("{}", f"{ANTHROPIC[:9]}\u00ad{ANTHROPIC[9:]}"),
    "full-width": ("{}", "".join(chr(ord(letter) + 0xFEE0) for letter in GITHUB)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_a_secret_in_the_format_of_a_service_is_redacted(name: str) -> None:
    """Keys of many services are redacted: glued to a word, escaped, encoded, wrapped or with invisible letters, too."""
    frame, secret = FORMATS[name]
    redacted, kinds = redact(frame.replace("{}", secret))
    assert kinds
    assert longest_common(redacted, secret) < 6


async def test_no_secret_reaches_the_store(tmp_path: Path) -> None:
    """No part of a secret is in any file of the data folder after it was given to `remember`, or was in a question."""
    async with open_engine(Settings.load(home=str(tmp_path), embedder="none", vector_index="scan")) as engine:
        memory = MemoryClient.over(engine, Caller())
        for frame, secret in FORMATS.values():
            stored = await memory.remember(frame.replace("{}", secret))
            content = (await memory.read(stored.id)).memories[0].content
            assert longest_common(content, secret) < 6
            await memory.recall(frame.replace("{}", secret))
        assert (await memory.usage()).recalls == len(FORMATS)
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()).lower()
    leaked = [name for name, (_, secret) in FORMATS.items() if len(secret) > 12 and secret.lower().encode() in content]
    assert not leaked


@pytest.mark.parametrize("key", [GITHUB, AWS], ids=["github", "aws"])
async def test_no_field_stores_a_secret(key: str, tmp_path: Path) -> None:
    """No name, message, branch, attachment, token, space or idempotency key holds a secret: cut, refused or hashed."""
    chosen = Settings.load(home=str(tmp_path / "data"), embedder="none", vector_index="scan")
    chosen = chosen.with_overrides(notestore_path=str(tmp_path / "notes"))
    async with MemoryClient(path=chosen.home, settings=chosen, agent=key, run=f"{key} first") as memory:
        tea = await memory.remember("Ann likes tea.", name=key, idempotency_key=key, metadata={key: key})
        cake = await memory.remember("Ben bakes cake on Sundays.", tags=[key], category=key, session_hint=key)
        await memory.relate(tea.id, cake.id, relation=key, text=key, metadata={"note": key})
        await memory.revise(tea.id, text=f"Ann likes tea. {key}", message=key, idempotency_key=f"{key}2")
        await memory.branch(tea.id, "draft", description=key)
        await memory.commit(tea.id, message=key, branch="draft")
        await memory.merge_branch(tea.id, "draft", message=key)
        await memory.forget(cake.id, reason=key)
        note = await memory.write_note(key, f"# {key}", idempotency_key=f"{key}3")
        for request in (
            BranchRequest(id=tea.id, name=key),
            CreateTokenRequest(name=key, spaces=("work",)),
            CreateTokenRequest(name="laptop", spaces=(key,)),
            AttachFileRequest(note=note.id, name=f"{key}.txt", data=b"tea"),
            AddSynonymsRequest(tag="tea", variants=(key,)),
        ):
            with pytest.raises(InvalidInput, match="secret"):
                await memory.call(request)
    async with MemoryClient(path=chosen.home, settings=chosen, space=key) as memory:
        with pytest.raises(InvalidInput, match="secret"):
            await memory.remember("Ann likes tea.")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    content = b"".join(path.read_bytes() for path in files).lower() + repr(files).lower().encode()
    assert key.lower().encode() not in content


def ordinary() -> Iterator[str]:
    rng = random.Random(3)
    for number in range(300):
        digest = hashlib.sha512(rng.randbytes(8)).digest()
        sha256, sha1, md5 = digest[:32].hex(), digest[:20].hex(), digest[:16].hex()
        id_ = str(uuid.UUID(bytes=digest[:16]))
        yield from (
            sha1, sha256, md5, digest.hex(), id_, id_.upper(), f"0x{sha1}", f"0x{sha256}", f"sha256:{sha256}",
            f"commit {sha1} (HEAD -> main)", f"--hash=sha256:{sha256} \\", f"task-{md5} cache-key-{number}",
            f"sha512-{base64.b64encode(digest).decode()}", base64.b64encode(digest[:32]).decode(),
            base64.urlsafe_b64encode(digest[:32]).decode(), f"x/y v1.2.{number} h1:{base64.b64encode(sha1.encode())}",
            f'"resolved": "https://r.example/js-tokens/-/js-tokens-4.0.{number}.tgz#{sha1}"', f"session {id_}",
            f'checksum = "{sha256}"', digest[:6].hex(":"), f"trace 00-{md5}-{sha1[:16]}-01", f"built {md5}-us-east-1",
            f"+49 {rng.randrange(100, 999)} {rng.randrange(10**6, 10**7)}", f"978-3-16-{rng.randrange(10**6)}-0",
            f"https://x.example/a/{md5}?id={id_}&page=2", f"src/x.py:{number}:5:error:name", f"image@sha256:{sha256}",
            f"prompt_tokens: {number}, total tokens: {number * 3}", f"{rng.randrange(10**12)}", f"{sha1}\n{sha256}",
        )  # fmt: skip
    for _ in range(4):
        picture = rng.randbytes(60_000)
        yield "data:image/png;base64," + base64.b64encode(picture).decode()
        yield base64.encodebytes(picture).decode()


def test_hashes_ids_and_numbers_stay() -> None:
    """Hashes, UUIDs, lines of lock files, phone numbers and pictures in base64 are never redacted."""
    assert [text[:80] for text in ordinary() if redact(text)[1]] == []


@pytest.mark.parametrize(
    "piece",
    [
        "api_key=", "a", " ", "=", '"', "'", "-----BEGIN", "-----BEGIN PRIVATE KEY-----", "password: ", "password is ",
        "pw=", '_key="', "secret_key='", "token:", "pass: 1", "eyJ", "eyJaaaaaaaa.eyJ", "sk-", "sl.B", "://a:", "%41",
        "\\_", "\uff41", "a\u200b", "A1b2\n", "ghp_\n", "a=b; ", "cookie: ", "mysql -p", "machine a login b ", "&#65;",
        "12345678:", ".atlasv1.", ":5432:a:b:", "1|", "-us1", "00", "A1b2C3d4/+",
    ],
)  # fmt: skip
def test_a_megabyte_of_anything_is_searched_in_seconds(piece: str) -> None:
    """Redaction is linear: a megabyte of any repeated piece takes at most four seconds of one core."""
    text = piece * (1_000_000 // len(piece))
    before = time.process_time()
    redact(text)
    # A second of a busy machine, or of one that measures coverage, does less.
    assert time.process_time() - before < 4


def longest_common(text: str, secret: str) -> int:
    """Return the length of the longest part of a secret that a text has, up to 8."""
    rest = re.sub(r"\[redacted: [^\]]*\]", "", text)
    return max(
        (size for size in range(1, 9) for at in range(len(secret) - size + 1) if secret[at : at + size] in rest),
        default=0,
    )
