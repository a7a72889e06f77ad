"""What a PostgreSQL server checks before an entry is added: statements for `postgres`.

Analysts have no right to insert. They call ``dpforest_append``, which runs with the owner's rights and does
itself what a decision rests on: it follows the last entry, adds the totals up, keeps the ceiling, recomputes
the hash and knows the login. A forged total, a junk row or somebody else's name is therefore impossible,
whatever program calls it; what remains possible is to charge without looking. The arithmetic is that of
`records.add_up` and `Row.hash`, on PostgreSQL's exact integers.
"""

from __future__ import annotations

from dpforest.privacy.budget.records import (
    GRID_BITS,
    LONGEST_TEXT,
    MOST_BITS_OF_TOTAL,
    Dataset,
    Entry,
    fields_of,
)

LOCKS = 0x64706672  # keeps our advisory locks apart from those of other programs
_MOST_JSON = 2**24
_LONGEST_COST = 2 * 310 + 1  # two numbers of 2 * MOST_BITS bits and a stroke
_LARGEST_DENOMINATOR = 2**MOST_BITS_OF_TOTAL  # below it a total is exact
_GRID = 2**GRID_BITS


def _hashed(row: str, columns: list[str]) -> str:
    return f"dpforest_hash({', '.join(f'{row}.{column}::text' for column in columns)})"


_ENTRY = fields_of(Entry)
_DATASET = fields_of(Dataset)

FUNCTIONS = (
    """
    CREATE FUNCTION dpforest_hash(VARIADIC columns text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
        SELECT encode(sha256(convert_to(string_agg(
            CASE WHEN value IS NULL THEN '-'
                 ELSE octet_length(convert_to(value, 'UTF8')) || ':' || value END,
            ',' ORDER BY place), 'UTF8')), 'hex')
        FROM unnest(columns) WITH ORDINALITY AS given(value, place)
    $$
    """,
    f"""
    CREATE FUNCTION dpforest_sum(first text, second text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
    DECLARE
        first_below numeric := coalesce(nullif(split_part(first, '/', 2), ''), '1');
        second_below numeric := coalesce(nullif(split_part(second, '/', 2), ''), '1');
        above numeric := split_part(first, '/', 1)::numeric * second_below
            + split_part(second, '/', 1)::numeric * first_below;
        below numeric := first_below * second_below;
        common numeric := gcd(above, below);
    BEGIN
        above := div(above, common);
        below := div(below, common);
        IF below >= {_LARGEST_DENOMINATOR} THEN
            above := div(above * {_GRID} + below - 1, below);
            below := {_GRID};
            common := gcd(above, below);
            above := div(above, common);
            below := div(below, common);
        END IF;
        RETURN CASE WHEN below = 1 THEN above::text ELSE above::text || '/' || below::text END;
    END $$
    """,
    """
    CREATE FUNCTION dpforest_at_most(first text, second text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT AS $$
        SELECT split_part(first, '/', 1)::numeric
                * coalesce(nullif(split_part(second, '/', 2), ''), '1')::numeric
            <= split_part(second, '/', 1)::numeric
                * coalesce(nullif(split_part(first, '/', 2), ''), '1')::numeric
    $$
    """,
    """
    CREATE FUNCTION dpforest_require(holds boolean, otherwise text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF holds IS NOT TRUE THEN
            RAISE EXCEPTION 'this entry is refused: %', otherwise;
        END IF;
    END $$
    """,
    f"""
    CREATE FUNCTION dpforest_check_form(entry dpforest_charges) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
        fraction text := '^[0-9]+(/[1-9][0-9]*)?$';
        note text;
        document text;
    BEGIN
        PERFORM dpforest_require(coalesce(entry.epsilon, '0') ~ fraction AND entry.rho ~ fraction
            AND entry.delta ~ fraction
            AND length(coalesce(entry.epsilon, '0')) <= {_LONGEST_COST}
            AND length(entry.rho) <= {_LONGEST_COST} AND length(entry.delta) <= {_LONGEST_COST},
            'a cost is not an exact fraction');
        PERFORM dpforest_require(entry.max_rows_per_person >= 1 AND
            entry.relation IN ('add_or_remove_one', 'replace_one', 'label_change'), 'unknown neighbours');
        FOREACH note IN ARRAY ARRAY[entry.label, coalesce(entry.name, ''), entry.analyst, entry.purpose,
                                    entry.who, entry.at] LOOP
            PERFORM dpforest_require(length(note) <= {LONGEST_TEXT} AND note !~ '[[:cntrl:]]',
                'a text is too long or has control characters');
        END LOOP;
        PERFORM dpforest_require(entry.name <> '' OR entry.name IS NULL, 'an empty name');
        FOREACH document IN ARRAY ARRAY[coalesce(entry.plan, 'null'), coalesce(entry.queries, 'null')] LOOP
            PERFORM dpforest_require(length(document) <= {_MOST_JSON} AND json_typeof(document::json) <> '',
                'a plan or its queries are too long');
        END LOOP;
        PERFORM dpforest_require(left(entry.who, length(session_user) + 1) = session_user || '@',
            'it does not name its login');
        PERFORM dpforest_require(entry.hash = {_hashed("entry", _ENTRY)}, 'its hash is wrong');
    END $$
    """,
    f"""
    CREATE FUNCTION dpforest_append(entry dpforest_charges) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER AS $$
    DECLARE
        budget dpforest_datasets;
        last dpforest_charges;
        opened dpforest_charges;
    BEGIN
        PERFORM pg_advisory_xact_lock({LOCKS}, hashtext(entry.dataset));
        SELECT * INTO budget FROM dpforest_datasets WHERE name = entry.dataset;
        PERFORM dpforest_require(budget.hash = {_hashed("budget", _DATASET)},
            'its dataset is not as it was made');
        SELECT * INTO last FROM dpforest_charges WHERE dataset = entry.dataset ORDER BY number DESC LIMIT 1;
        IF last.number IS NULL THEN
            last.number := 0;
            last.hash := budget.hash;
            last.total_epsilon := '0';
            last.total_rho := '0';
            last.total_delta := '0';
            last.relation := coalesce(budget.relation, entry.relation);
            last.max_rows_per_person := coalesce(budget.max_rows_per_person, entry.max_rows_per_person);
        ELSE
            PERFORM dpforest_require(last.hash = {_hashed("last", _ENTRY)}, 'the last entry was changed');
        END IF;
        PERFORM dpforest_check_form(entry);
        PERFORM dpforest_require(entry.number = last.number + 1 AND entry.previous = last.hash,
            'it does not follow the last entry');
        PERFORM dpforest_require(entry.relation = last.relation
            AND entry.max_rows_per_person = last.max_rows_per_person, 'it is stated for other neighbours');
        PERFORM dpforest_require(
            entry.total_epsilon IS NOT DISTINCT FROM dpforest_sum(last.total_epsilon, entry.epsilon)
            AND entry.total_rho = dpforest_sum(last.total_rho, entry.rho)
            AND entry.total_delta = dpforest_sum(last.total_delta, entry.delta), 'its totals do not add up');
        IF entry.settles IS NULL THEN
            PERFORM dpforest_require(entry.state IN ('reserved', 'spent') AND entry.queries IS NULL,
                'a charge is reserved or spent');
            PERFORM dpforest_require(dpforest_at_most(entry.total_delta, budget.loose) AND
                (coalesce(dpforest_at_most(entry.total_epsilon, budget.epsilon), false)
                OR coalesce(dpforest_at_most(entry.total_rho, budget.rho), false)), 'the ceiling is reached');
        ELSE
            SELECT * INTO opened FROM dpforest_charges
                WHERE dataset = entry.dataset AND number = entry.settles;
            PERFORM dpforest_require(opened.state = 'reserved' AND entry.state IN ('spent', 'failed')
                AND entry.epsilon = '0' AND entry.rho = '0' AND entry.delta = '0'
                AND entry.name IS NULL AND entry.plan IS NULL
                AND left(opened.who, length(session_user) + 1) = session_user || '@',
                'it settles what is not reserved by this login');
        END IF;
        INSERT INTO dpforest_charges SELECT entry.*;
    END $$
    """,  # noqa: S608 - constants and names of columns
    "REVOKE ALL ON FUNCTION dpforest_append(dpforest_charges) FROM PUBLIC",
)
