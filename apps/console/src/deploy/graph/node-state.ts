import type { ComfyNode } from './comfy-nodes.ts';

interface RunState {
  /** Begins with the title of the node that runs; null when nothing runs. */
  readonly liveStatus: string | null;
  /** The node in which the run failed: its id, title or type. */
  readonly failed: string | undefined;
}

/** What a node does in a run. */
export const nodeState = (
  { id, title, type }: Pick<ComfyNode, 'id' | 'title' | 'type'>,
  { liveStatus, failed }: RunState,
): 'failed' | 'running' | 'idle' => {
  if (failed !== undefined && [id, title, type].includes(failed)) return 'failed';
  if (liveStatus === null) return 'idle';
  // What follows the title: the step, or a text of the node.
  const isIts = liveStatus === title || [' ', ':'].some((mark) => liveStatus.startsWith(title + mark));
  return isIts ? 'running' : 'idle';
};
