import type { StoredFile } from '../events/run-event-data.ts';
import type { MediaItem, OutputItem } from '../http/runs/run-outputs.ts';
import type { EndedRun } from '../fold/run.ts';

/** The address at which clients find a file. */
export type OutputUrl = (file: Pick<StoredFile, 'key' | 'filename'>) => string;

/** Those of a blob are loaded before. */
export const shownOutputs = (run: EndedRun, outputUrl: OutputUrl): OutputItem[] =>
  (run.outputs ?? []).map(({ id, output_id, data, node_meta, type, node_id }) => ({
    id,
    run_id: run.run_id,
    output_id,
    data: Object.fromEntries(
      Object.entries(data).map(([kind, items]) => [kind, items.map((item) => shown(item, outputUrl))]),
    ),
    node_meta,
    created_at: run.ended_at,
    updated_at: run.ended_at,
    type,
    node_id,
  }));

const shown = (item: string | StoredFile, outputUrl: OutputUrl): string | MediaItem => {
  if (typeof item === 'string') return item;
  const { type, filename, subfolder, upload_duration, content_type } = item;
  return { url: outputUrl(item), type, filename, is_public: true, subfolder, upload_duration, content_type };
};
