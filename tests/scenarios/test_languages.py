"""Words alone find the right memory in any script, and by names, numbers and symbols as in code."""
# ruff: noqa: RUF001 - letters that look like others are the subject

from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.settings import Settings

# Texts, and the questions for which each must be the first hit among its dozen.
EAST_ASIA = {
    "我每天早上喝绿茶，不喝咖啡": ("绿茶", "早上喝什么茶"),
    "会议改到星期五下午三点": ("会议", "星期五"),
    "我的猫叫小黑，今年五岁": ("猫", "小黑几岁"),
    "東京タワーの近くのホテルを予約した": ("東京タワー", "ホテル", "塔はタワー"),
    "毎朝水を二杯飲む": ("水", "毎朝"),
    "ｶﾀｶﾅのメニューが読めない": ("カタカナ", "メニュー"),
    "한국어를 배우고 있다": ("한국어를", "한국어"),
    "부산에서 해물파전을 먹었다": ("해물파전을", "부산에서"),
    "ฉันชอบดื่มกาแฟเย็นตอนบ่าย": ("กาแฟ", "กาแฟเย็น"),
    "แมวของฉันชื่อส้ม": ("แมว", "ส้ม"),
    "ខ្ញុំចូលចិត្តឆ្កែ": ("ឆ្កែ",),
    "ຂ້ອຍມັກກິນເຂົ້າໜຽວ": ("ເຂົ້າໜຽວ",),
    "ကျွန်တော် ရန်ကုန်မှာ နေတယ်": ("ရန်ကုန်",),
    "Tôi thích ăn phở ở Hà Nội": ("phở", "ha noi"),
}
WEST_AND_SOUTH = {
    "قرأت الكتاب في المدرسة": ("كتاب", "مدرسه"),
    "أحمد يعمل طبيبًا في القاهرة": ("احمد", "القاهرة", "قاهره"),
    "كـــلب جارتي اسمه برق": ("كلب", "بَرْق"),
    "من می\u200cخواهم چای بنوشم": ("میخواهم", "چاي"),
    "הכלב של דנה נקרא רקס": ("הכלב", "כלב", "דָּנָה"),
    "אחי שירת בצה״ל שלוש שנים": ('צה"ל', "בצהל"),
    "मेरी किताबें अलमारी में हैं": ("किताब", "अलमारी"),
    "मुझे सुबह कॉफ़ी पसंद है।": ("कॉफी", "सुबह"),
    "আমার বোন ঢাকায় থাকে": ("ঢাকায়", "বোন"),
    "எனக்கு மழை பிடிக்கும்": ("மழை",),
    "ለእናቴ ቡና አፈላሁ": ("ቡና",),
    "ვახტანგს უყვარს ღვინო": ("ღვინო",),
}
EUROPE = {
    "Ёлку купили на рынке": ("елка", "рынок рынке"),
    "Моя кошка спит на диване": ("кошку", "КОШКА"),
    "Ο λόγος του ήταν σύντομος": ("ΛΟΓΟΣ", "λόγου"),
    "Οι γάτες κοιμούνται": ("γάτες", "γατες"),
    "Die Straße nach Köln ist gesperrt": ("strasse", "STRASSE", "koln"),
    "İstanbul'da ısıtma bozuldu": ("istanbul", "ISITMA"),
    "Łódź leży w środku Polski": ("lodz", "łódź"),
    "Smørrebrød med sild til frokost": ("smorrebrod",),
    "L'été, je nage à la plage près de Besançon": ("ete", "besancon"),
    "El niño pequeño comió jamón": ("nino", "JAMÓN"),
    "Dell'acqua beve il gatto": ("acqua", "gatto"),
    "Příliš žluťoučký kůň": ("zlutoucky", "kůň"),
    "ｆｕｌｌ ｗｉｄｔｈ ｌｅｔｔｅｒｓ": ("full width", "letters"),
    "Ana bought cœur de pigeon and a crème brûlée": ("coeur", "creme brulee"),
}
CODE = {
    "set max_retries to five in the worker": ("max_retries", "maxRetries", "retries"),
    "parseHTTPResponse drops the last header": ("parseHTTPResponse", "parse response", "parsehttpresponse"),
    "HTTPServer2 listens twice": ("HTTPServer2", "http server"),
    "the flag is_on decides": ("is_on",),
    "MAX_BUFFER_SIZE is four pages": ("MAX_BUFFER_SIZE", "buffer size"),
    "the kebab-case-option was renamed": ("kebab-case-option", "kebab"),
    "we compile with C++17": ("C++17", "C++"),
    "the editor plugin is in C#": ("c#",),
    "services moved to .NET 8": (".NET 8", ".net"),
    "the build script needs node.js": ("node.js", "NodeJS", "nodejs", "node"),
    "fixed by 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b": ("9f86d08", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"),
    "__init__ must not import numpy": ("__init__", "numpy"),
    "UserAccountFactory makes accounts": ("user_account_factory", "UserAccountFactory"),
}
FIGURES = {
    "servers run Python 3.11.2 now": ("3.11", "3.11.2", "python 3.11"),
    "laptops run Python 3.12.1 now": ("3.12", "v3.12.1"),
    "the proxy reads /etc/nginx/sites.conf": ("/etc/nginx/sites.conf", "nginx", "sites.conf"),
    "her photos are in C:\\Users\\anna\\Pictures": ("C:\\Users\\anna", "pictures anna"),
    "docs at https://docs.example.com/guide/intro?lang=en": ("docs.example.com", "guide/intro"),
    "write to jo.doe@example.com about it": ("jo.doe@example.com", "doe@example.com"),
    "write to jo.roe@example.org about it": ("jo.roe@example.org",),
    "the printer is 192.168.1.40": ("192.168.1.40", "192.168.1"),
    "the router is 192.168.7.1": ("192.168.7.1", "192.168.7"),
    "the roof costs 1,250,000 a year": ("1250000", "1,250,000"),
    "the bridge costs $2M": ("$2M", "2m"),
    "the party 🎉 was on Sunday": ("🎉",),
    "she answered 👍🏽 at once": ("👍", "👍🏿"),
    "my cousin is a 👩‍🚀": ("👩‍🚀", "🚀"),
    "we moved to 🇵🇹 last year": ("🇵🇹",),
    "flight 🇯🇵 was late ❤️": ("🇯🇵", "❤"),
}


@pytest.mark.parametrize("questions_by_text", [EAST_ASIA, WEST_AND_SOUTH, EUROPE, CODE, FIGURES])
async def test_the_right_one_of_a_dozen_is_first(home: Path, questions_by_text: dict[str, tuple[str, ...]]) -> None:
    async with MemoryClient(settings=Settings(home=str(home), embedder="none")) as memory:
        texts = {(await memory.remember(text, intent="new")).id: text for text in questions_by_text}
        missed: list[tuple[str, list[str]]] = []
        for text, questions in questions_by_text.items():
            for question in (*questions, text):
                hits = [texts[hit.id] for hit in (await memory.recall(question, limit=3)).hits]
                if hits[:1] != [text]:
                    missed.append((question, hits))
        assert not missed
