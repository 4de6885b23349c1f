import { JSON_KIND, type RunOutput, type StoredFile } from '../events/run-event-data.ts';
import type { MediaItem, OutputData, OutputItem } from '../http/runs/run-outputs.ts';
import type { EndedRun } from '../fold/run.ts';
import { parseJson } from '../json.ts';

/** The address at which clients find a file. */
export type OutputUrl = (file: Pick<StoredFile, 'key' | 'filename'>) => string;

/** Those of a blob are loaded before. */
export const shownOutputs = (run: EndedRun, outputUrl: OutputUrl): OutputItem[] =>
  (run.outputs ?? []).map(({ id, output_id, data, node_meta, type, node_id }) => ({
    id,
    run_id: run.run_id,
    output_id,
    data: shownData(data, outputUrl),
    node_meta,
    created_at: run.ended_at,
    updated_at: run.ended_at,
    type,
    node_id,
  }));

const shownData = (data: RunOutput['data'], outputUrl: OutputUrl): OutputData =>
  // Entries, because `__proto__` is an ordinary name.
  Object.fromEntries(
    Object.entries(data).map(([kind, items]): [string, unknown[]] => [
      kind,
      items.map((item) => {
        if (typeof item !== 'string') return shownFile(item, outputUrl);
        return kind === JSON_KIND ? jsonValue(item) : item;
      }),
    ]),
  ) as OutputData;

const shownFile = (file: StoredFile, outputUrl: OutputUrl): MediaItem => {
  const { type, filename, subfolder, upload_duration, content_type } = file;
  return { url: outputUrl(file), type, filename, is_public: true, subfolder, upload_duration, content_type };
};

/** In a copy of the log it may be masked, and is no JSON any more. */
const jsonValue = (text: string): unknown => {
  const value = parseJson(text);
  return value === undefined ? text : value;
};
