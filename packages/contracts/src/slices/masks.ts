import { storedFiles, type RunOutput, type StoredFile } from '../events/run-event-data.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';

/**
 * Replaces a text by one that tells only whether two are equal, within one slice: 32 hexadecimal digits, so that it fits wherever an
 * event has a key.
 */
export type Pseudonym = (text: string) => string;

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
export const withoutFileKeys = (output: RunOutput, pseudonym: Pseudonym): RunOutput =>
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
