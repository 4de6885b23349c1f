import { isJsonObject } from '@runledger/contracts/json';
import { dataText } from '../../process-output/output-values.ts';
import type { RunData } from '../../runner.ts';

/** A file that a node made, by the names that `/view` wants. */
export interface ServerFile {
  readonly node: string;
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

export interface ServerOutputs {
  readonly data: RunData;
  /** Each once, also when several nodes name it. */
  readonly files: readonly ServerFile[];
}

/** Says that a file is a film; the file's own name tells. */
const ABOUT_FILES = 'animated';

/**
 * What the nodes of a prompt made: files under any kind, and all other values as the data of the run has them. The order in which the server lists
 * its nodes differs from run to run; here it is that of their ids.
 */
export const readOutputs = (outputs: Readonly<Record<string, unknown>>): ServerOutputs => {
  const data = new Map<string, string[]>();
  const files = new Map<string, ServerFile>();
  for (const [node, kind, item] of itemsOf(outputs)) {
    const file = isJsonObject(item) ? readFile(node, item) : undefined;
    if (file) files.set(`${file.type}\n${file.subfolder}\n${file.filename}`, file);
    else data.set(kindOf(kind), [...(data.get(kindOf(kind)) ?? []), dataText(kindOf(kind), item)]);
  }
  return {
    data: Object.fromEntries(data),
    // What a node takes from the input folder is no output.
    files: [...files.values()].filter(({ type }) => type !== 'input'),
  };
};

const itemsOf = (outputs: Readonly<Record<string, unknown>>): (readonly [string, string, unknown])[] =>
  Object.entries(outputs)
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap(([node, output]) =>
      isJsonObject(output) ? Object.entries(output).map((kind) => [node, ...kind] as const) : [],
    )
    .filter(([, kind]) => kind !== ABOUT_FILES)
    .flatMap(([node, kind, items]) =>
      (Array.isArray(items) ? (items as unknown[]) : [items]).map((item) => [node, kind, item] as const),
    );

const readFile = (node: string, item: Record<string, unknown>): ServerFile | undefined => {
  const { filename, subfolder = '', type = 'output' } = item;
  return typeof filename === 'string' && typeof subfolder === 'string' && typeof type === 'string'
    ? { node, filename, subfolder, type }
    : undefined;
};

const MAX_KIND_LENGTH = 64;
const kindOf = (kind: string): string => kind.toWellFormed().slice(0, MAX_KIND_LENGTH) || 'text';
