"""What Scrubjay knows of tags: other names of common things, abbreviations, and words that only look alike."""

from collections.abc import Mapping

__all__ = ["ABBREVIATIONS", "DISTINCT", "NAMED", "NAMES", "NO_PLURALS", "PLAIN", "SPELLINGS", "SYNONYMS", "VAGUE"]

# A primary tag and its variants, which it replaces.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "auth": ("authentication", "auth-fix", "auth-chain", "auth-gateway", "requireAuth"),
    "cli": ("lanonasis-cli", "cli-fix"),
    "supabase": ("supabase-db", "supabase-migration"),
    "mcp": ("mcp-server", "enterprise-mcp", "vortex-mcp"),
    "database": ("db",),
    "testing": ("test", "test-suite"),
    "deployment": ("deploy",),
    "search": ("search_memories_voyage",),
}
# Particular things: their primary comes before them, and they stay.
NAMED: Mapping[str, tuple[str, ...]] = {
    "auth": ("oauth",),
    "database": ("sql", "postgres", "pgvector"),
    "testing": ("e2e", "unit-test"),
    "deployment": ("release", "ci-cd"),
    "search": ("vector-search", "semantic-search"),
}
# Names of one thing: that which a space has already is taken, else the first.
NAMES: tuple[tuple[str, ...], ...] = (
    ("accessibility", "a11y"),
    ("ai", "artificial-intelligence"),
    ("aws", "amazon-web-services"),
    ("backend", "back-end"),
    ("bug", "defect"),
    ("c#", "csharp", "c-sharp"),
    ("c++", "cpp", "cplusplus"),
    ("ci", "continuous-integration"),
    ("configuration", "config", "cfg"),
    ("css", "cascading-style-sheets"),
    ("adr", "architecture-decision-record"),
    ("dependency", "deps"),
    ("documentation", "docs", "doc"),
    (".net", "dotnet", "dot-net", ".net-framework"),
    ("elasticsearch", "elastic-search"),
    ("email", "e-mail", "mail"),
    ("environment-variable", "env-var", "env-vars", "envvar"),
    ("expense", "expenditure"),
    ("f#", "fsharp", "f-sharp"),
    ("frontend", "front-end"),
    ("gcp", "google-cloud", "google-cloud-platform"),
    ("github-actions", "gh-actions", "github-action"),
    ("go", "golang"),
    ("google-sheets", "google-spreadsheet", "gsheets"),
    ("hr", "human-resources"),
    ("i18n", "internationalization"),
    ("image", "picture"),
    ("internet-explorer", "ie", "msie"),
    ("javascript", "js", "ecmascript"),
    ("kubernetes", "k8s", "kube"),
    ("l10n", "localization"),
    ("linux", "gnu-linux"),
    ("llm", "large-language-model"),
    ("macos", "osx", "os-x", "mac-os", "mac-os-x"),
    ("machine-learning", "ml"),
    ("meeting", "mtg"),
    ("mongodb", "mongo"),
    ("nlp", "natural-language-processing"),
    ("node.js", "nodejs"),
    ("objective-c", "objc", "obj-c"),
    ("observability", "o11y"),
    ("oop", "object-oriented-programming", "object-oriented"),
    ("orm", "object-relational-mapping"),
    ("os", "operating-system"),
    ("performance", "perf"),
    ("person", "people"),
    ("postgres", "postgresql", "pgsql", "psql"),
    ("powershell", "pwsh"),
    ("production", "prod"),
    ("pull-request", "merge-request"),
    ("python", "py", "cpython"),
    ("qa", "quality-assurance"),
    ("raspberry-pi", "rpi", "raspi"),
    ("react", "reactjs"),
    ("refactoring", "refactor"),
    ("regex", "regexp", "regular-expression"),
    ("repository", "repo"),
    ("rest", "restful", "rest-service"),
    ("ruby-on-rails", "rails", "ror"),
    ("rust", "rustlang", "rust-lang"),
    ("shell", "sh", "shell-script"),
    ("sql-server", "mssql", "ms-sql", "microsoft-sql-server"),
    ("svn", "subversion"),
    ("tailwind", "tailwindcss"),
    ("todo", "to-do", "action-item"),
    ("typescript", "ts"),
    ("ui", "user-interface", "gui"),
    ("ux", "user-experience"),
    ("vacation", "time-off", "pto"),
    ("visual-basic", "vb"),
    ("vscode", "visual-studio-code", "vs-code"),
    ("vue", "vuejs"),
    ("websocket", "web-socket"),
    ("wifi", "wi-fi", "wlan"),
)
# Short forms of single words, written out to be compared.
_SHORT_FORMS = """
admin administration; alg algorithm; algo algorithm; app application; appl application; apps application;
arch architecture; arg argument; args argument; arr array; async asynchronous; attr attribute; auth authentication;
autocomplete autocompletion; avg average; bg background; bin binary; bool boolean; btn button; calc calculation;
cert certificate; char character; chars character; cmd command; cmp comparison; col column; coll collection;
comm communication; concat concatenation; cond condition; config configuration; conf configuration; conn connection;
const constant; conv conversion; coord coordinate; cpp cplusplus; cs csharp; ctor constructor; ctrl control;
ctx context; cv curriculumvitae; db database; dbs database; dep dependency; dept department; desc description;
dest destination; dev development; dict dictionary; diff difference; dir directory; dirs directory;
dist distribution; div division; doc documentation; docs documentation; ds datastructure; ecma ecmascript;
ef entityframework; env environment; equiv equivalence; err error; eval evaluation; evt event; exec execution;
expr expression; ext extension; fb facebook; fmt format; fn function; fs filesystem; ftp filetransferprotocol;
func function; funcs function; gen generation; geo geography; gh github; govt government; gradle gradle; hw hardware;
ie internetexplorer; img image; impl implementation; info information; init initialization; inst instance;
int integer; intl international; iter iterator; java java; js javascript; k8s kubernetes; kb keyboard;
lang language; lat latitude; lib library; libs library; lon longitude; mac macos; math mathematic; maths mathematic;
mem memory; mgmt management; mgr manager; mngt management; misc miscellaneous; mobi mobile; ms microsoft;
msg message; msgs message; multi multiple; mvc modelviewcontroller; nav navigation; net dotnet; num number;
obj object; objc objectivec; op operation; ops operation; opt optimization; org organization; os operatingsystem;
param parameter; params parameter; perf performance; pic picture; pkg package; pos position; postgresql postgres;
pref preference; prefs preference; prev previous; priv private; proc procedure; prof profile; prog program;
prop property; props property; proto protocol; ptr pointer; pwd password; pw password; py python; qty quantity;
rand random; rb ruby; rec record; ref reference; refs reference; reg registry; regex regularexpression;
regexp regularexpression; repo repository; req request; res resource; resp response; rng randomnumbergenerator;
sched schedule; sec security; sel selection; seq sequence; sess session; sig signature; spec specification;
specs specification; sp sharepoint; sql sql; src source; srv server; stat statistic; stats statistic; std standard;
stmt statement; str string; struct structure; sub subscription; svc service; sw software; sync synchronization;
sys system; tbl table; tech technology; temp temporary; tmp temporary; ts typescript; txt text; ui userinterface;
undef undefined; univ university; usr user; util utility; utils utility; val value; vals value; var variable;
vars variable; vb visualbasic; vec vector; ver version; vid video; vm virtualmachine; vs visualstudio;
win windows; wp wordpress; ws webservice; xaml xaml; yr year
"""
ABBREVIATIONS: Mapping[str, str] = {
    short: long for short, long in (one.split() for one in _SHORT_FORMS.split(";")) if short != long
}
# A tag that has one of these more is the same tag.
PLAIN = frozenset("framework language lang library lib programming software tool project apache".split())
# A tag that has one of these more is mostly a part of what it has beside it.
VAGUE = frozenset(
    "access adobe amazon api apple app application aws basic class client code command component control core "
    "custom data design development driver element error example file function google handling ibm issue js "
    "management method microsoft model module ms object operation oracle package page pattern plugin problem process "
    "property query script sdk server service statement style support system task type ui usage user utility value "
    "variable view web widget window".split()
)
# They look alike, or one is in the other, and they are different things.
_DISTINCT = """
java javascript; angular angularjs; mysql mysqli; email gmail; sql nosql; test latest; git github; git gitlab;
http https; go google; r ruby; c c#; c c++; c# c++; c objective-c; c f#; .net asp.net; json jsonp; xml xaml; html xhtml;
php phpunit; latex latest; swift swiftui; scala scalar; perl pearl; rust trust; spring string; word wordpress;
ios io; window windows; panda pandas; new news;
docker dockerfile; django djangocms; flask flash; vue vuex; redux redis; spark sparql; maven raven;
customer custom; person personal; personal personnel; contract contact; production product; plan plant;
public publication; private privacy; council counsel; vacation vaccination; price prize; site sight; desert dessert;
inbound outbound; input output; import export; upload download; encode decode; encrypt decrypt; client server;
frontend backend; sync async; public private; legal illegal; regular irregular; typed untyped; signed unsigned;
managed unmanaged; safe unsafe; structured unstructured; supervised unsupervised; offline online; indoor outdoor;
internal external; income outcome; credit debit; buy sell; increase decrease; install uninstall; subscribe unsubscribe;
do undo; pin unpin; mount unmount; lock unlock; like unlike; hire fire
"""
DISTINCT: tuple[frozenset[str], ...] = tuple(frozenset(pair.split()) for pair in _DISTINCT.split(";"))
# Their last letter is no plural, or makes another thing of them.
NO_PLURALS = frozenset(
    "alias always atlas canvas chaos cors https ios jenkins keras kubernetes lens macos news pandas postgres sales "
    "series species watchos windows".split()
)
SPELLINGS: Mapping[str, str] = {
    "aluminium": "aluminum", "analogue": "analog", "apis": "api", "artefact": "artifact", "catalogue": "catalog",
    "centre": "center", "cheque": "check", "defence": "defense", "dialogue": "dialog", "fibre": "fiber",
    "fulfil": "fulfill", "grey": "gray", "judgement": "judgment", "licence": "license", "metre": "meter",
    "offence": "offense", "practise": "practice", "programme": "program", "theatre": "theater",
}  # fmt: skip
