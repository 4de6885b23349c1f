import { type RunOutput, type StoredFile, JSON_KIND } from '@runledger/contracts/events/run-event-data';
import { jsonBytes } from '@runledger/contracts/json';
import { MAX_INLINE_BYTES } from '@runledger/contracts/limits';
import type { OutputNode, OutputFile, RunData } from '../runners/runner.ts';

/** What made an item of the outputs. */
export interface OutputSource {
  readonly id: string;
  /** Of the item, where the node does not call it otherwise. */
  readonly outputId: string;
  /** Null for what no node made. */
  readonly node: OutputNode | null;
}

/** One item of the outputs of a run, with its data and its stored files; none without both. */
export const runOutputs = (
  { id, outputId, node }: OutputSource,
  present: Readonly<Record<string, readonly (string | StoredFile)[]>>,
  files: readonly StoredFile[],
): RunOutput[] => {
  const data = new Map<string, (string | StoredFile)[]>(
    Object.entries(present).map(([kind, items]) => [kind, [...items]]),
  );
  for (const file of files) {
    const kind = kindOf(file.content_type);
    data.set(kind, [...(data.get(kind) ?? []), file]);
  }
  if (data.size === 0) return [];
  return [
    {
      id,
      output_id: node === null ? outputId : (node.output_id ?? node.id),
      node_id: node?.id ?? null,
      node_meta: node?.title ? { title: node.title } : null,
      type: node?.class_type ?? null,
      data: Object.fromEntries(data),
    },
  ];
};

const kindOf = (contentType: string): string => {
  if (contentType.startsWith('image/')) return 'images';
  if (contentType.startsWith('video/')) return 'videos';
  return contentType.startsWith('audio/') ? 'audio' : 'files';
};

/** A text output that is too large for an event. It becomes a file of this name. */
export interface LargeText {
  readonly kind: string;
  /** Among the texts of its kind. */
  readonly index: number;
  readonly filename: string;
  readonly text: string;
}

/** The texts that become files. No name is that of a file of the workflow. Values of the kind `json` stay values. */
export const largeTexts = (
  data: RunData,
  files: readonly Pick<OutputFile, 'filename' | 'subfolder'>[],
): LargeText[] => {
  const taken = new Set(files.flatMap(({ subfolder, filename }) => (subfolder === '' ? [filename] : [])));
  return Object.entries(data).flatMap(([kind, texts]) =>
    texts.flatMap((text, index) => {
      if (kind === JSON_KIND || jsonBytes(text) <= MAX_INLINE_BYTES) return [];
      const filename = freeName(`${kind.replaceAll(/[^\p{L}\p{N}_-]+/gu, '-')}-${index + 1}`, taken);
      taken.add(filename);
      return [{ kind, index, filename, text }];
    }),
  );
};

const freeName = (name: string, taken: ReadonlySet<string>): string => {
  for (let suffix = '', next = 2; ; next += 1) {
    const filename = `${name}${suffix}.txt`;
    if (!taken.has(filename)) return filename;
    suffix = `-${next}`;
  }
};

/** The data with a stored file in the place of each large text. A text whose file was not stored is left out. */
export const withStoredTexts = (
  data: RunData,
  large: readonly LargeText[],
  stored: readonly (StoredFile | null)[],
): Record<string, (string | StoredFile)[]> =>
  Object.fromEntries(
    Object.entries(data).map(([kind, texts]) => [
      kind,
      texts.flatMap((text, index): (string | StoredFile)[] => {
        const position = large.findIndex((item) => item.kind === kind && item.index === index);
        if (position === -1) return [text];
        const file = stored[position];
        return file ? [file] : [];
      }),
    ]),
  );
