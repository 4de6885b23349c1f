import type { StoredFile } from '../events/run-event-data.ts';
import type { MediaItem, OutputItem } from '../http/runs/run.ts';
import type { EndedRun } from '../fold/run.ts';

/** Those of a blob are loaded before. `publicUrl` is the gateway's address for clients, without a slash at the end. */
export const shownOutputs = (run: EndedRun, publicUrl: string): OutputItem[] =>
  (run.outputs ?? []).map(({ id, output_id, data, node_meta, type, node_id }) => ({
    id,
    run_id: run.run_id,
    output_id,
    data: Object.fromEntries(
      Object.entries(data).map(([kind, items]) => [kind, items.map((item) => shown(item, publicUrl))]),
    ),
    node_meta,
    created_at: run.ended_at,
    updated_at: run.ended_at,
    type,
    node_id,
  }));

const shown = (item: string | StoredFile, publicUrl: string): string | MediaItem => {
  if (typeof item === 'string') return item;
  const { key, type, filename, subfolder, upload_duration, content_type } = item;
  const url = `${publicUrl}/outputs/${key}/${encodeURIComponent(filename)}`;
  return { url, type, filename, is_public: true, subfolder, upload_duration, content_type };
};
