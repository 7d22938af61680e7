"""English words that carry no meaning for search, and forms of others that stemming misses."""

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being below but by
    can could did do does doing don down during each few for from further get got had has have having he her
    here hers him his how i if in into is it its itself just let me more most my no nor not now of off on once
    only or other our ours out over own same she should so some such than that the their theirs them then there
    these they this those through to too under until up us very was we were what when where which while who
    whom whose why will with would you your yours im ive id ill youre hes shes theyre weve dont didnt doesnt
    isnt wasnt werent cant couldnt wont wouldnt thats whats many much
    """.split()
)

_FORMS = """
    be: been
    begin: began begun
    bear: bore borne
    bite: bit bitten
    blow: blew blown
    break: broke broken
    bring: brought
    build: built
    buy: bought
    catch: caught
    child: children kid kids kiddo
    choose: chose chosen
    come: came
    deal: dealt
    draw: drew drawn
    dream: dreamt
    drink: drank drunk
    drive: drove driven
    eat: ate eaten
    fall: fell fallen
    feel: felt
    fight: fought
    find: found
    fly: flew flown
    foot: feet
    forget: forgot forgotten
    forgive: forgave forgiven
    freeze: froze frozen
    give: gave given
    go: went gone
    grow: grew grown
    hang: hung
    hear: heard
    hide: hid hidden
    hold: held
    keep: kept
    know: knew known
    lead: led
    leave: left
    lend: lent
    life: lives
    light: lit
    lose: lost
    make: made
    man: men
    mean: meant
    meet: met
    mouse: mice
    pay: paid
    person: people
    ride: rode ridden
    ring: rang rung
    rise: rose risen
    run: ran
    say: said
    see: saw seen
    sell: sold
    send: sent
    shake: shook shaken
    shine: shone
    shoot: shot
    show: shown
    shrink: shrank shrunk
    sing: sang sung
    sink: sank sunk
    sit: sat
    sleep: slept
    slide: slid
    speak: spoke spoken
    spend: spent
    stand: stood
    steal: stole stolen
    stick: stuck
    strike: struck
    swear: swore sworn
    sweep: swept
    swim: swam swum
    swing: swung
    take: took taken
    teach: taught
    tear: tore torn
    tell: told
    think: thought
    throw: threw thrown
    tooth: teeth
    understand: understood
    wake: woke woken
    wear: wore worn
    weep: wept
    wife: wives
    win: won
    woman: women
    write: wrote written
"""

# What people write to those they know.
_FAMILIAR = """
    application: app apps
    bicycle: bike bikes
    brother: bro
    business: biz
    center: centre centres
    christmas: xmas
    color: colour colours
    congratulation: congrats
    exam: examination
    family: fam
    father: dad dads daddy papa
    favorite: fave faves fav favs favourite favourites
    grandfather: grandpa
    grandmother: grandma granny
    hello: hey hi
    husband: hubby
    information: info
    mother: mom moms mommy mum mums mama
    movie: film films
    photo: pic pics picture pictures photograph photographs photography
    refrigerator: fridge
    sister: sis
    television: tv
    thanks: thank thx
    theater: theatre
    vegetable: veggie veggies
"""

IRREGULAR = {
    form: line.split(":")[0].strip()
    for lines in (_FORMS, _FAMILIAR)
    for line in lines.strip().splitlines()
    for form in line.split(":")[1].split()
}
