import { isEnded, type Run, type RunRequest } from '@runledger/contracts/fold/run';
import { isRunId, type OrgId } from '@runledger/contracts/ids';
import { isJsonObject, type JsonValue } from '@runledger/contracts/json';
import { isJsonNumber, numberText } from '@runledger/contracts/exact-number';

/** What runs are searched for. */
export interface RunSearch {
  /** Folded, at least one character. */
  readonly text: string;
  /** Of the deployments whose names have the text: their runs are found too. */
  readonly deploymentIds: readonly string[];
}

/** Runs whose ids begin with a text: from the first text on, and before the second. */
export interface IdRange {
  readonly from: string;
  readonly before: string;
}

/** How runs are found. Of many ids the runs are scanned, as those of a text are. */
export type Sought =
  | ({ readonly kind: 'text' } & RunSearch)
  | ({ readonly kind: 'ids' | 'many_ids' } & IdRange);

/** Of a search, in UTF-16 units: room for the characters that a request may have. */
const MAX_SEARCH = 1_000;
/** Of ids that began with fewer, an organisation may have very many. */
const MIN_ID_PREFIX = 8;
const ANY_ID = '00000000-0000-0000-0000-000000000000';
/** Behind every character of an id. */
const BEHIND = 'g';

/** A search as it is compared; empty when it has no character that counts. */
export const searchWord = (text: string): string => foldedText(text, MAX_SEARCH);

/** The ids that a text can be the beginning of; undefined when it can be that of none. */
export const idsBeginningWith = (text: string): IdRange | undefined =>
  text.length >= MIN_ID_PREFIX && isRunId(text + ANY_ID.slice(text.length))
    ? { from: text, before: text + BEHIND }
    : undefined;

/** How many runs of an organisation have such an id, up to a number. */
export type CountIds = (org_id: OrgId, ids: IdRange, atMost: number) => Promise<number>;

/** As many are read and sorted at once. Ids begin with their time: very many runs of one minute begin alike. */
const MAX_SORTED = 5_000;

/** What a search becomes: a text that ids of runs begin with finds those runs, and any other one is looked for in what runs say. */
export const soughtIn = async (
  { org_id, search }: { readonly org_id: OrgId; readonly search?: RunSearch },
  countIds: CountIds,
): Promise<Sought | undefined> => {
  if (!search) return undefined;
  const ids = idsBeginningWith(search.text);
  const count = ids ? await countIds(org_id, ids, MAX_SORTED + 1) : 0;
  if (!ids || count === 0) return { kind: 'text', ...search };
  return { kind: count > MAX_SORTED ? 'many_ids' : 'ids', ...ids };
};

/** Whether a search finds a run, as a database decides it. */
export const isFound = (run: Run, { text, deploymentIds }: RunSearch): boolean =>
  (idsBeginningWith(text) !== undefined && run.run_id.startsWith(text)) ||
  deploymentIds.includes(run.request.deployment_id) ||
  searchTextOf(run).includes(text);

/**
 * A text without what a search ignores: upper and lower case, forms of one character (NFKC), and how it is spaced. Line ends and control
 * characters become spaces, so nothing in it ends a line. A final sigma is a sigma. At most `most` UTF-16 units of the text are read, and as many
 * are given: some characters become several.
 */
export const foldedText = (text: string, most: number): string => {
  const part = text.slice(0, most);
  // Most texts of a run are plain, and every write of a view folds them. The steps below change nothing else of these.
  if (PLAIN.test(part)) return part.toLowerCase();
  return part
    .toWellFormed()
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll(SPACES, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed();
};

/** Characters of ASCII, with one space between two others. */
const PLAIN = /^(?:[\x21-\x7e]+(?: [\x21-\x7e]+)*)?$/;

// Control characters are spaces here: NUL would end an expression of MongoDB.
// oxlint-disable-next-line no-control-regex
const SPACES = /[\s\u0000-\u001f\u007f-\u009f]+/gu;

/** Of the error of a run, in UTF-16 units. */
const MAX_ERROR = 500;
/** Of one input. */
const MAX_VALUE = 1_000;
/** Of all inputs, with their names. */
const MAX_INPUTS = 2_000;

/**
 * What a search looks at in a run: its tags, the message of its error, and its inputs, each name and value in a line of its own. Nothing
 * that readers of the run do not see: of a secret input only the name. Inputs in a blob are not in it. Later facts take nothing away.
 */
export const searchTextOf = (run: Run): string =>
  [
    ...(run.request.tags ?? []).map((tag) => foldedText(tag, MAX_VALUE)),
    ...errorTexts(run),
    ...inputTexts(run.request),
  ].join('\n');

const errorTexts = (run: Run): string[] =>
  isEnded(run) && run.error ? [foldedText(run.error.message, MAX_ERROR)] : [];

const inputTexts = ({ inputs, secret_inputs = [] }: RunRequest): string[] => {
  const lines: string[] = [];
  let left = MAX_INPUTS;
  for (const text of textsIn(inputs, secret_inputs)) {
    if (left <= 0) break;
    const line = foldedText(text, Math.min(left, MAX_VALUE));
    if (line === '') continue;
    lines.push(line);
    left -= line.length + 1;
  }
  return lines;
};

/** Names, texts and numbers, in their order. `hidden`: names whose values are left out. */
function* textsIn(value: JsonValue, hidden: readonly string[] = []): Generator<string, undefined> {
  if (typeof value === 'string') yield value;
  else if (isJsonNumber(value)) yield numberText(value);
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) {
      yield name;
      if (!hidden.includes(name)) yield* textsIn(member);
    }
}
