"""What the tools of the training dialogues answer, and what is said about it."""

import re

import other_tools
from rendering import dumps
from values import CONDITIONS

ERRORS = """not found|timeout|service unavailable|permission denied|network error|invalid input|no such <w>|unknown <w>|<w> is missing|
rate limit reached|connection refused|bad request|error <n>|code <n>: <w> failed|the <w> is offline|cannot read <w>|out of memory|
division by zero|not available for <c>|disk full|login required|try again later""".replace("\n", "").split("|")
STATUSES = ["stored in the local outbox", "sent", "queued", "delivered", "saved as a draft", "waiting", "accepted"]
COUNTS = ["no", "one", "two", "three", "four", "five"]


class Results:
    """The part of the generator that makes results."""

    def error_text(self):
        text = self.pick(ERRORS)
        v = self.values
        while "<w>" in text:
            text = text.replace("<w>", v.word(), 1)
        return text.replace("<n>", v.number(3)).replace("<c>", v.city() if "<c>" in text else "")

    def result(self, d, args):
        """(text of the tool's result, the answer about it, what the answer must contain)"""
        r = self.rng
        if r.random() < 0.08:
            error = self.error_text()
            return dumps({"error": error}), f"The tool reported an error: {error}.", [error]
        if isinstance(d.tool, other_tools.Other) or r.random() < 0.08:
            return self.generic_result()
        data, answer, must = getattr(self, "result_" + d.key)({k: v for k, v in args.items() if k in d.params})
        if r.random() < 0.2:
            data["source"] = "bundled table" if r.random() < 0.6 else self.values.word()
        elif r.random() < 0.06:
            data[self.pick(["humidity", "id", "request", "cached", "ms"])] = r.randint(0, 99)
        return dumps(data), answer, must

    def moved(self, value, draw):
        """The place that the result names: now and then another one than was asked for."""
        x = self.rng.random()
        return value if x < 0.85 else draw() if x < 0.93 else value + ", " + self.values.city()

    def result_weather(self, args):
        r = self.rng
        place = self.moved(args.get("location", "here"), self.values.city)
        degrees = r.randint(-15, 40) if r.random() < 0.7 else round(r.uniform(-20, 110), 1)
        unit = args.get("unit", "celsius")
        if r.random() < 0.08:
            unit = r.choice(("celsius", "fahrenheit"))
        sky = self.values.word() if r.random() < 0.2 else r.choice(CONDITIONS)
        return ({"location": place, "temperature": degrees, "unit": unit, "condition": sky},
                f"It is {dumps(degrees)} degrees {unit} and {sky} in {place}.", [dumps(degrees), sky, place])

    def result_time(self, args):
        place = self.moved(args["timezone"], self.values.zone)
        clock = f"{self.rng.randint(0, 23):02d}:{self.rng.randint(0, 59):02d}"
        return {"timezone": place, "time": clock}, f"It is {clock} in {place}.", [clock, place]

    def result_calc(self, args):
        try:
            value = eval(re.sub(r"\b0+(\d)", r"\1", args["expression"]), {"__builtins__": {}})
            value = int(value) if value == int(value) else round(value, self.rng.choice((2, 4)))
        except ZeroDivisionError:
            value = 0
        return {"result": value}, f"The result is {dumps(value)}.", [dumps(value)]

    def result_timer(self, args):
        minutes = args["minutes"]
        data = {"timer_id": self.rng.randint(1, 999) if self.rng.random() < 0.7 else self.values.invent(), "minutes": minutes, "status": "started"}
        label = args.get("label")
        return data, f"The {label} timer runs for {minutes} minutes." if label else f"The timer runs for {minutes} minutes.", [str(minutes)]

    def result_currency(self, args):
        r = self.rng
        amount = round(r.random() * 10 ** r.randint(1, 6), 2) if r.random() < 0.8 else r.randint(1, 9999)
        return ({"amount": amount, "currency": args["to"]}, f"{dumps(args['amount'])} {args['from']} is {dumps(amount)} {args['to']}.", [dumps(amount), args["to"]])

    def result_notes(self, args):
        notes = [self.values.phrase() if self.chance(0.5) else self.values.sentence().rstrip(".!?") for _ in range(self.pick((0, 1, 1, 2, 2, 3)))]
        if not notes:
            return {"notes": []}, f"I found no notes about {args['query']}.", [args["query"]]
        noun = "note" if len(notes) == 1 else "notes"
        return {"notes": notes}, f"I found {COUNTS[len(notes)]} {noun}: {'; '.join(notes)}.", notes

    def result_message(self, args):
        status = self.pick(STATUSES)
        return {"status": status, "to": args["to"]}, f"Your message to {args['to']} is {status}.", [args["to"], status]

    def result_stock(self, args):
        r = self.rng
        price = round(r.random() * 10 ** r.randint(1, 4), 2)
        currency = "USD" if r.random() < 0.6 else self.values.code()
        return ({"symbol": args["symbol"], "price": price, "currency": currency}, f"{args['symbol']} is at {dumps(price)} {currency}.", [args["symbol"], dumps(price), currency])

    def generic_result(self):
        """A result that no demonstration tool gives: a word, a list, some fields, plain text."""
        r, v = self.rng, self.values

        def value():
            x = r.random()
            return v.phrase(3) if x < 0.5 else v.city() if x < 0.6 else int(v.number(4)) if x < 0.85 else round(r.random() * 100, 1)

        def shown(x):
            return x if isinstance(x, str) else dumps(x)

        shape = r.randrange(6)
        if shape == 0:
            status = v.phrase(2)
            return dumps({"status": status}), f"Done: {status}.", [status]
        if shape == 1:
            x = value()
            return dumps({"result": x}), f"The result is {shown(x)}.", [shown(x)]
        if shape == 2:
            return dumps({"ok": True}), "Done.", ["Done."]
        if shape == 3:
            items = [v.phrase(3) for _ in range(r.randint(0, 3))]
            name = r.choice(("results", "items", "found", "matches"))
            if not items:
                return dumps({name: []}), "The tool found nothing.", ["nothing"]
            return dumps({name: items}), f"I found {'; '.join(items)}.", items
        if shape == 4:
            fields = {re.sub(r"\W", "", v.word()).lower() or "x": value() for _ in range(r.randint(1, 3))}
            return dumps(fields), "The tool says " + ", ".join(f"{k}: {shown(x)}" for k, x in fields.items()) + ".", [shown(x) for x in fields.values()]
        text = v.sentence().rstrip(".!?")
        return text, f"The tool says: {text}.", [text]

    def object_exchange(self):
        """An object that only a constraint asks for: its first mark is not trained, what stands in it is."""
        r, v = self.rng, self.values
        thing = self.pick(("a person", "a person", "a user", "somebody", "a customer", "a student", "a city", "a book", "a product", "an animal", "a friend", "the author", "a character"))
        kinds = {"name": lambda: v.city() if "city" in thing else v.name() if r.random() < 0.5 else v.name() + " " + v.name(), "age": lambda: r.randint(1, 99), "city": v.city,
                 "title": lambda: v.phrase(4).title(), "price": lambda: r.randint(1, 500), "year": lambda: r.randint(1900, 2026), "color": lambda: self.pick(("red", "blue", "green", "grey", "black")),
                 "active": lambda: r.random() < 0.5, "email": lambda: self.other_value("address"), "count": lambda: r.randint(1, 50)}
        names = ["name", "age"] if r.random() < 0.4 else r.sample(list(kinds), r.randint(1, 4))
        text = self.question_text(self.form(["{describe|invent|make up|think of|imagine|give me|generate|write|show me} <thing>{ please|}{ as JSON| as an object|||}", "{I need|tell me about|who is} <thing>{?|}"]).replace("<thing>", thing))
        body = dumps({name: kinds[name]() for name in names})
        message, note = self.say(body, "json", [], None)
        return [self.user(text), (dict(message, given='{"'), note)]
