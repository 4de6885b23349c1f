import { isClientOf } from './client-id.ts';
import { readQueue } from '../core/queue-place.ts';
import type { ComfyApi } from '../server/comfy-api.ts';
import { stopPrompt } from './follow-prompt.ts';

/**
 * Stops what this executor left at a server that runs anyway, such as before it was killed: nobody waits for it, and the next run
 * would wait behind it. Gives up at the deadline, for a node may be deaf.
 */
export const stopLeftovers = async (
  api: ComfyApi,
  executorName: string,
  deadline: AbortSignal,
): Promise<void> => {
  const answer = await api.get('queue');
  const queued = answer.kind === 'answered' ? readQueue(answer.text) : [];
  const left = queued.filter(({ client_id }) => isClientOf(executorName, client_id));
  await Promise.all(left.map(({ prompt_id }) => stopPrompt({ api }, prompt_id, deadline)));
};
