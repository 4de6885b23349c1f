import { storedFiles, type RunOutput, type StoredFile } from '../events/run-event-data.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import type { ContentKind, SliceContent } from './slice.ts';

/** How a slice hides the content that it does not keep. */
export interface Redaction {
  readonly keeps: (kind: ContentKind) => boolean;
  /** Whether something of kept inputs or outputs is replaced: then nothing is kept that a part of them could be derived from. */
  readonly masks: (kind: 'inputs' | 'outputs') => boolean;
  readonly maskInputs: (inputs: JsonObject) => JsonObject;
  readonly maskOutput: (output: RunOutput) => RunOutput;
  readonly pseudonym: Pseudonym;
}

export const redactionOf = ({ kept, masked }: SliceContent, pseudonym: Pseudonym): Redaction => {
  const kinds = new Set(kept);
  const { inputs = [], outputs = [] } = masked;
  return {
    keeps: (kind) => kinds.has(kind),
    masks: (kind) => (masked[kind] ?? []).length > 0,
    maskInputs: (values) => maskedInputs(values, inputs, pseudonym),
    maskOutput: (output) => withoutFileKeys(maskedOutput(output, outputs, pseudonym), pseudonym),
    pseudonym,
  };
};

type Change<Value, Data> = (value: Value, redaction: Redaction, data: Data) => Value;

interface ContentRule<Value, Data> {
  /** It is content of this kind. */
  readonly content: ContentKind;
  /** What is in its place where the kind is not kept. */
  readonly without: Change<Value, Data> | 'left_out';
  /** What is kept of it; all when this is left out. */
  readonly kept?: Change<Value, Data>;
}

/** `within`: its members have rules of their own. */
type Rule<Value, Data = object> =
  | 'kept'
  | ContentRule<Value, Data>
  | { readonly within: (value: Value, redaction: Redaction) => Value };

type OptionalRule<Value, Data> = Rule<Value, Data> | 'left_out';

/** Each member has a rule, so that the compiler asks for the one of a new member. Only an optional one may be left out. */
export type Rules<Data> = {
  readonly [Member in keyof Data]-?: Data extends Record<Member, unknown>
    ? RequiredRule<Data[Member], Data>
    : OptionalRule<Exclude<Data[Member], undefined>, Data>;
};

type RequiredRule<Value, Data> =
  | Exclude<Rule<Value, Data>, ContentRule<Value, Data>>
  | (ContentRule<Value, Data> & { readonly without: Change<Value, Data> });

/** A member without a rule, which a later release wrote, is left out. */
export const redacted = <Data extends object>(rules: Rules<Data>, data: Data, redaction: Redaction): Data => {
  // The compiler cannot follow the type of each member.
  const ruleOf = rules as Readonly<Record<string, OptionalRule<unknown, Data>>>;
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    const rule = Object.hasOwn(ruleOf, name) ? ruleOf[name] : undefined;
    if (rule === undefined || rule === 'left_out') continue;
    if (rule === 'kept') shown[name] = value;
    else if ('within' in rule) shown[name] = rule.within(value, redaction);
    else if (redaction.keeps(rule.content))
      shown[name] = rule.kept ? rule.kept(value, redaction, data) : value;
    else if (rule.without !== 'left_out') shown[name] = rule.without(value, redaction, data);
  }
  return shown as Data;
};

/** Of the members that every event about a run has. */
export const ENVELOPE_RULES = {
  type: 'kept',
  version: 'kept',
  event_id: 'kept',
  run_id: 'kept',
  org_id: 'kept',
  time: 'kept',
  writer: 'kept',
  correlation_id: { content: 'traces', without: () => 'left_out' },
  causation_id: 'kept',
  traceparent: { content: 'traces', without: () => null },
} as const;

/**
 * Replaces a text by one that tells only whether two are equal, within one slice: 32 hexadecimal digits, so that it fits wherever an
 * event has a key.
 */
type Pseudonym = (text: string) => string;

/**
 * An address that tells only which callbacks have the same origin, as receivers of notifications are told apart. No name below `.invalid`
 * ever resolves (RFC 2606).
 */
export const maskedAddress = (address: string, pseudonym: Pseudonym): string =>
  `https://${pseudonym(URL.parse(address)?.origin ?? address)}.invalid/`;

/** The steps of a JSON pointer. */
const stepsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

const covers = (step: string | undefined, name: string): boolean =>
  step === undefined || step === '*' || step === name;

/** The inputs with a pseudonym in place of each value that a pointer names. */
export const maskedInputs = (
  inputs: JsonObject,
  pointers: readonly string[],
  pseudonym: Pseudonym,
): JsonObject =>
  pointers.reduce((masked, pointer) => membersMasked(masked, stepsOf(pointer), pseudonym), inputs);

const membersMasked = (
  members: JsonObject,
  [step, ...rest]: readonly string[],
  pseudonym: Pseudonym,
): JsonObject =>
  // Entries, because `__proto__` is an ordinary name.
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      covers(step, name) ? valueMasked(value, rest, pseudonym) : value,
    ]),
  );

const valueMasked = (value: JsonValue, steps: readonly string[], pseudonym: Pseudonym): JsonValue => {
  if (steps.length === 0) return pseudonym(typeof value === 'string' ? value : JSON.stringify(value));
  if (Array.isArray(value)) {
    const [step, ...rest] = steps;
    return value.map((item, n) => (covers(step, String(n)) ? valueMasked(item, rest, pseudonym) : item));
  }
  return isJsonObject(value) ? membersMasked(value, steps, pseudonym) : value;
};

/** An output with pseudonyms where pointers name something. It still matches its schema. */
export const maskedOutput = (
  output: RunOutput,
  pointers: readonly string[],
  pseudonym: Pseudonym,
): RunOutput =>
  pointers.reduce((masked, pointer) => {
    const [member, ...steps] = stepsOf(pointer);
    return member === 'data'
      ? { ...masked, data: dataMasked(masked.data, steps, pseudonym) }
      : { ...masked, node_meta: nodeMasked(masked.node_meta, steps, pseudonym) };
  }, output);

const nodeMasked = (
  node: JsonObject | null,
  steps: readonly string[],
  pseudonym: Pseudonym,
): JsonObject | null => (node && steps.length > 0 ? membersMasked(node, steps, pseudonym) : null);

const dataMasked = (
  data: RunOutput['data'],
  [kind, index]: readonly string[],
  pseudonym: Pseudonym,
): RunOutput['data'] =>
  Object.fromEntries(
    Object.entries(data).map(([name, items]) => [
      name,
      covers(kind, name)
        ? items.map((item, n) => (covers(index, String(n)) ? itemMasked(item, pseudonym) : item))
        : items,
    ]),
  );

/** Of a file its kind and its size stay. */
const itemMasked = (item: string | StoredFile, pseudonym: Pseudonym): string | StoredFile =>
  typeof item === 'string'
    ? pseudonym(item)
    : {
        ...item,
        filename: pseudonym(item.filename),
        subfolder: pseudonym(item.subfolder),
        content_type: 'application/octet-stream',
        sha256: pseudonym(item.sha256).repeat(2),
      };

/** An output without the keys of its files: whoever has the key of a file may read it. */
const withoutFileKeys = (output: RunOutput, pseudonym: Pseudonym): RunOutput =>
  storedFiles([output]).length === 0
    ? output
    : {
        ...output,
        data: Object.fromEntries(
          Object.entries(output.data).map(([name, items]) => [
            name,
            items.map((item) => (typeof item === 'string' ? item : { ...item, key: pseudonym(item.key) })),
          ]),
        ),
      };
