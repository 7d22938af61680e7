"""Sixty pairs of a stored statement and a later one, written before the rules that judge them: half of them changes.

The pairs without a change are those that a memory must not call a conflict: another subject or qualifier, the same
said in other words, order or spelling, and lists of which both parts hold.
"""

__all__ = ["CHANGED", "CHANGED_KIND", "UNCHANGED", "UNCHANGED_KIND"]

CHANGED_KIND = "written beforehand, changed"
UNCHANGED_KIND = "written beforehand, both hold"

# The older statement, and the one that replaces it.
CHANGED: tuple[tuple[str, str], ...] = (
    ("The nightly backup starts at 01:30.", "The nightly backup starts at 03:00 now, the disks were too busy."),
    ("Our stand-up is at 9:15 in room Birch.", "Stand-up moved to 9:45."),
    ("The gateway allows 200 requests a minute per key.", "Rate limit of the gateway raised to 500 requests a minute."),
    ("Petra owns the billing module.", "Billing is no longer Petra's, Anselm took it over."),
    (
        "We deploy the website with Jenkins.",
        "The website is deployed by GitHub Actions since last week, Jenkins is off.",
    ),
    ("Sessions expire after 30 minutes.", "Sessions expire after two hours."),
    ("Nadia lives in Porto.", "Nadia moved to Ghent in March."),
    ("The report is due on Friday.", "The report is due on Wednesday instead of Friday."),
    ("I drink two cups of coffee in the morning.", "I stopped drinking coffee, only tea for me."),
    ("The cache uses Memcached.", "We replaced Memcached with Redis for the cache."),
    ("My dentist is Dr. Falk on Mill Street.", "I changed dentists: Dr. Osei, the practice near the station."),
    ("Production database is on PostgreSQL 14.", "Upgraded production to PostgreSQL 16 on Sunday."),
    ("The conference takes place from 3 to 5 June.", "The conference was postponed to 17 to 19 September."),
    ("Rent is 940 euros a month.", "From July on the rent is 985 euros."),
    ("Line length is 100 in this repository.", "We agreed on a line length of 120."),
    ("Omar is on call this week.", "Omar is ill, Lucia is on call this week."),
    ("The minimum iOS version is 15.", "We dropped iOS 15, the minimum is iOS 16 now."),
    ("Invoices are sent on the first of the month.", "Invoices go out on the fifth of the month from now on."),
    ("Logs are kept for 14 days.", "Log retention is 90 days now because of the audit."),
    ("The office plants are watered by Jule.", "Timo waters the office plants since Jule left."),
    ("The flight to Lisbon leaves at 7:40.", "The airline changed our flight to Lisbon, it leaves at 10:05."),
    ("Der Müll wird montags abgeholt.", "Der Müll wird jetzt mittwochs abgeholt."),
    ("Unser Steuerberater ist Herr Kern.", "Wir haben den Steuerberater gewechselt, jetzt ist es Frau Abel."),
    ("Die Heizung steht nachts auf 17 Grad.", "Die Heizung steht nachts nur noch auf 15 Grad."),
    ("El descuento para Talleres Vega es del 8 %.", "Talleres Vega tiene ahora un descuento del 12 %."),
    ("La reunión semanal es los martes.", "La reunión semanal pasa a los jueves."),
    (
        "Nuestro proveedor de cajas es Cartonajes Lur.",
        "Ya no compramos las cajas a Cartonajes Lur, ahora a Envases Toro.",
    ),
    ("Le cours de piano de Zoé est le mercredi.", "Le cours de piano de Zoé est désormais le samedi."),
    (
        "La voiture est au garage Morel pour l'entretien.",
        "Nous ne faisons plus l'entretien au garage Morel, mais chez Dupin.",
    ),
    ("The feature flag new_checkout is off.", "new_checkout is switched on for everyone."),
)

# Two statements that both hold.
UNCHANGED: tuple[tuple[str, str], ...] = (
    ("The staging cluster has 3 nodes.", "The production cluster has 9 nodes."),
    ("The iOS app uses SQLite.", "The Android app uses Room."),
    ("The access token is valid for 15 minutes.", "The refresh token is valid for 30 days."),
    ("The cleanup job runs at 02:00.", "The report job runs at 06:00."),
    ("The build takes 4 minutes.", "The build takes four minutes."),
    ("Ana and Luis review the API.", "The API is reviewed by Luis and Ana."),
    ("Petra plays the violin.", "Petra also plays the cello."),
    ("My sister's birthday is on 4 May.", "My brother's birthday is on 9 October."),
    ("We use pytest for tests.", "We use ruff for linting."),
    ("Timeout of the search service is 2 seconds.", "Timeout of the upload service is 60 seconds."),
    ("The kitchen has a gas stove.", "The kitchen has a dishwasher too."),
    ("Deploys happen on Thursdays.", "Deploys happen every Thursday."),
    ("The frontend is written in TypeScript.", "The backend is written in Go."),
    ("Marek works from Kraków on Mondays.", "Marek works from the office on Tuesdays."),
    ("The car needs winter tyres from November.", "The car's inspection is due in November."),
    ("Orders are stored in the table orders.", "Refunds are stored in the table refunds."),
    ("I like hiking.", "I like photography."),
    ("Postgres listens on 5432.", "Redis listens on 6379."),
    ("The first release was on 3 March.", "The second release was on 12 April."),
    ("Lena is allergic to peanuts.", "Peanuts are dangerous for Lena, she is allergic to them."),
    ("The wifi password is on the fridge.", "The key to the cellar hangs beside the fridge."),
    ("CI needs 12 minutes on Linux.", "CI needs 25 minutes on Windows."),
    ("Our customer Brandt pays within 30 days.", "Our customer Hollmann pays within 14 days."),
    ("Retry three times with backoff when the bank is down.", "When the bank is down, retry 3 times with backoff."),
    ("Die Bibliothek schließt samstags um 14 Uhr.", "Die Bibliothek schließt werktags um 19 Uhr."),
    ("Jonas hat dienstags Training.", "Mia hat donnerstags Ballett."),
    ("El almacén de Sevilla cierra a las 18:00.", "El almacén de Bilbao cierra a las 20:00."),
    ("Le loyer du bureau est de 800 euros.", "Le loyer du parking est de 90 euros."),
    ("We decided to use Kafka for events.", "Kafka was chosen for events because of replay."),
    ("The model was trained with 640 trees.", "The model was trained on two years of sales."),
)
