import { isSameRun, type ProjectionPosition, type RunView, type RunViews } from './run-views.ts';

/** Views of one process, rebuilt from the log at every start; as large as what the log holds. */
export const memoryRunViews = (): RunViews => {
  const views = new Map<string, RunView>();
  let position: ProjectionPosition | undefined;
  return {
    shared: false,
    find: async (key) => {
      const view = views.get(key.run_id);
      return isSameRun(view, key) ? view : undefined;
    },
    load: async (keys) =>
      keys.flatMap((key) => {
        const view = views.get(key.run_id);
        return isSameRun(view, key) ? [view] : [];
      }),
    save: async (given) => {
      for (const view of given) {
        const present = views.get(view.run.run_id);
        if (!present || (isSameRun(present, view.run) && present.head < view.head))
          views.set(view.run.run_id, view);
      }
    },
    position: async () => position,
    savePosition: async (next) => {
      if (position && position.stream_created !== next.stream_created) return;
      if (!position || position.sequence < next.sequence) position = next;
    },
    startAgain: async (stream_created) => {
      for (const [id, view] of views) views.set(id, { ...view, head: 0 });
      position = { stream_created, sequence: 0, event_id: null };
    },
  };
};
