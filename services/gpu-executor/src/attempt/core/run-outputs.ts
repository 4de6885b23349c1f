import type { RunOutput, StoredFile } from '@runledger/contracts/events/run-event-data';

/** The outputs of a run: one item with its data and its stored files; empty without both. */
export const runOutputs = (
  id: string,
  outputId: string,
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
    { id, output_id: outputId, node_id: null, node_meta: null, type: null, data: Object.fromEntries(data) },
  ];
};

const kindOf = (contentType: string): string => {
  if (contentType.startsWith('image/')) return 'images';
  if (contentType.startsWith('video/')) return 'videos';
  return contentType.startsWith('audio/') ? 'audio' : 'files';
};
