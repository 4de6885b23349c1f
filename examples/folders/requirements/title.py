import inflection


def title(text: str):
    return inflection.titleize(text)
