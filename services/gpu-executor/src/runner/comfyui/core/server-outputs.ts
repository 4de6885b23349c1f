import { isJsonObject } from '@runledger/contracts/json';
import { dataText } from '../../../runners/output/program-messages.ts';
import type { RunData } from '../../../runners/runner.ts';

/** A file that a node made, by the names that `/view` wants. */
export interface ServerFile {
  readonly node: string;
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

/** What one node made. */
export interface NodeOutputs {
  /** Its id, as the server says it. */
  readonly node: string;
  /** What the node calls its output, as those of ComfyUI Deploy do. */
  readonly output_id: string | null;
  readonly data: RunData;
  /** Each once, also when several nodes name it: then it is one of the first. */
  readonly files: readonly ServerFile[];
  /** Also a file that is one of another node. */
  readonly namesFiles: boolean;
}

/** Says that a file is a film; the file's own name tells. */
const ABOUT_FILES = 'animated';

/**
 * What the nodes of a prompt made: files under any kind, and all other values as the data of the run has them. The order in which the server lists
 * its nodes differs from run to run; here it is that of their ids.
 */
export const readOutputs = (outputs: Readonly<Record<string, unknown>>): NodeOutputs[] => {
  const known = new Set<string>();
  return Object.entries(outputs)
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap(([node, output]) => (isJsonObject(output) ? [readNode(node, output, known)] : []));
};

const readNode = (node: string, output: Record<string, unknown>, known: Set<string>): NodeOutputs => {
  const data = new Map<string, string[]>();
  const files: ServerFile[] = [];
  let output_id: string | null = null;
  let namesFiles = false;
  for (const [kind, items] of Object.entries(output)) {
    if (kind === ABOUT_FILES) continue;
    for (const item of Array.isArray(items) ? (items as unknown[]) : [items]) {
      const file = isJsonObject(item) ? readFile(node, item) : undefined;
      if (file === undefined)
        data.set(kindOf(kind), [...(data.get(kindOf(kind)) ?? []), dataText(kindOf(kind), item)]);
      // What a node takes from the input folder is no output.
      else if (file.type !== 'input' && !known.has(keyOf(file))) {
        known.add(keyOf(file));
        files.push(file);
      }
      namesFiles ||= file !== undefined && file.type !== 'input';
      if (file && isJsonObject(item) && typeof item['output_id'] === 'string')
        output_id ??= item['output_id'];
    }
  }
  return { node, output_id, data: Object.fromEntries(data), files, namesFiles };
};

const keyOf = ({ type, subfolder, filename }: ServerFile): string => `${type}\n${subfolder}\n${filename}`;

const readFile = (node: string, item: Record<string, unknown>): ServerFile | undefined => {
  const { filename, subfolder = '', type = 'output' } = item;
  return typeof filename === 'string' && typeof subfolder === 'string' && typeof type === 'string'
    ? { node, filename, subfolder, type }
    : undefined;
};

const MAX_KIND_LENGTH = 64;
const kindOf = (kind: string): string => kind.toWellFormed().slice(0, MAX_KIND_LENGTH) || 'text';
