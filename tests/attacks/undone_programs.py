"""Programs that change a memory, one for each verb, of which `undo` must leave nothing."""

BEFORE_CHANGES = """
remember("Deploys happen on Mondays", name="deploys", intent="new")
revise("deploys", text="Deploys happen on Thursdays")
remember("Tea is in the blue cupboard", name="tea", intent="new")
remember("The office moves to Lyon", name="office", intent="new")
forget("office")
relate("tea", "deploys", "near")
branch("deploys", "plan")
revise("tea", text="Tea is in the red cupboard")
branch("tea", "kitchen", at=1, switch=True)
write_note("one", "The words of a note")
write_note("two", "More words of another")
write_note("three", "A third note")
link_notes("one", "two")
"""
"""What is there before each change."""
SEEN = """
fields = ("content", "observations", "last_confirmed", "last_reviewed")
seen = []
for memory in read([found["id"] for found in search_nodes("", limit=100)])["memories"]:
    tree, links = branches(memory["id"]), graph([memory["id"]])["edges"]
    branch_names = sorted([branch["name"] for branch in tree["branches"]])
    seen.append([
        memory["name"], [memory.get(field) for field in fields], tree["current"], branch_names,
        sorted([link["type"] + link["source"] + link["target"] for link in links]),
    ])
result = sorted(seen)
"""
"""Returns what undo must bring back."""
CHANGES = {
    "remember": "remember('The lift is out of order', name='lift')",
    "remember_many": "remember_many([{'text': 'The lift is out of order', 'name': 'lift'}])",
    "revise": "revise('deploys', text='Deploys happen on Fridays')",
    "forget": "forget('deploys')",
    "restore": "restore('office')",
    "confirm": "confirm('deploys')",
    "relate": "relate('deploys', 'tea', 'after')",
    "unrelate": "unrelate('tea', 'deploys', 'near')",
    "revert": "revert('deploys', 1)",
    "commit": "commit('deploys', 'milestone')",
    "branch": "branch('deploys', 'third', switch=True)",
    "drop_branch": "drop_branch('deploys', 'plan')",
    "merge_branch": "merge_branch('tea', 'main', into='kitchen')",
    "extract": "extract('ann: I prefer tea to coffee.', method='patterns')",
    "create_entities": "create_entities([{'name': 'Sarah', 'entityType': 'person', 'observations': ['Likes tea.']}])",
    "update_entity": "update_entity('deploys', {'add_observations': ['By Sarah.']})",
    "save_skill": "save_skill('one_more', 'def one_more():\\n    return 1', 'Returns one.')",
    "write_note": "write_note('four', 'A fourth note')",
    "edit_note": "edit_note('one', content='Other words')",
    "link_notes": "link_notes('three', 'one')",
    "unlink_notes": "unlink_notes('one', 'two')",
    "review_note": "review_note('one')",
}
"""For each verb that writes, a program that changes something."""
