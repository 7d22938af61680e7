"""Words of relations that have one value at a time, for telling when two values of them cannot both hold."""

__all__ = ["ATTRIBUTES", "KINSHIP", "OCCUPATIONS", "ROLES", "SETTLED"]

# Of each of these a thing or a person has one: the port, the boss, the deadline.
ATTRIBUTES = frozenset(
    """
    name nickname username login handle password passphrase pin email mail phone telephone number mobile address
    birthday birthdate birthplace hometown age height weight size nationality citizenship religion gender pronouns
    language locale timezone currency country city home zip postcode region zone diet allergy degree major job title
    profession occupation salary rank
    editor ide shell browser terminal theme font keyboard layout os distro machine laptop
    license licence branch version release tag port host hostname ip url uri domain endpoint path folder directory
    database db backend frontend framework runtime compiler platform provider host cloud orm cache broker queue
    manager formatter linter runner bundler tool engine protocol format encoding style convention indentation level
    timeout interval ttl limit threshold quota maximum minimum max min retries delay duration length depth rate
    frequency ratio percentage share coverage count total sum price cost fee budget amount balance rent
    deadline date day time start end launch release appointment meeting standup retro kickoff milestone schedule
    status state phase priority severity owner topic goal target policy strategy plan model method mode algorithm type
    colour color material brand make
    capital headquarters location venue room seat gate platform
    """.split()
)
# Who is the one for somebody or something.
ROLES = frozenset(
    """
    boss manager supervisor lead leader chief head director president chairman chair ceo cto cfo coo founder owner
    maintainer author admin administrator moderator host captain coach mentor assistant secretary treasurer teacher
    doctor dentist lawyer landlord husband wife spouse fiance fiancee partner girlfriend boyfriend mother father mum mom
    dad contact reviewer approver assignee
    """.split()
)
KINSHIP = frozenset(
    """
    sister brother cousin mother father mum mom dad daughter son aunt uncle niece nephew grandmother grandfather grandma
    grandpa wife husband stepmother stepfather stepsister stepbrother godmother godfather
    """.split()
)
# What people are by trade: few are two of these at once.
OCCUPATIONS = frozenset(
    """
    accountant actor actress analyst architect baker barber barista bartender biologist butcher carpenter cashier chef
    chemist cleaner clerk coach consultant cook dentist designer detective developer doctor driver economist editor
    electrician engineer farmer firefighter fisherman florist gardener hairdresser journalist judge lawyer lecturer
    librarian mechanic midwife musician nurse optician paramedic pharmacist photographer physicist physiotherapist pilot
    plumber policeman policewoman politician postman professor programmer psychologist receptionist reporter researcher
    salesman scientist secretary shopkeeper soldier student surgeon tailor teacher technician therapist translator
    veterinarian vet waiter waitress welder writer
    """.split()
)
# Where a thing has its place, or how it is made: written in one language, kept in one store.
SETTLED = frozenset(
    """
    written implemented coded built hosted deployed stored saved located placed kept run scheduled planned set assigned
    owned maintained managed led headed licensed published registered powered backed formatted enrolled headquartered
    parked served stationed housed compiled encoded measured tracked
    """.split()
)
