import { readHistory, type PromptEnd } from '../core/history-entry.ts';
import { readQueuePlace } from '../core/queue-place.ts';
import type { ComfyApi } from '../server/comfy-api.ts';

/** What a server knows of a prompt. */
export type LookedUp =
  | ({ readonly kind: 'ended' } & PromptEnd)
  /** `behind`: another prompt runs before it. */
  | { readonly kind: 'running' | 'pending' | 'behind' }
  /** It never had the prompt, was restarted, or somebody deleted it. */
  | { readonly kind: 'unknown' }
  /** Its answer cannot be understood, or there is none. */
  | { readonly kind: 'unclear'; readonly why: string };

/** The history is the end of a prompt; the queue tells what is not there yet. */
export const lookUp = async (api: ComfyApi, prompt_id: string): Promise<LookedUp> => {
  const before = await readEntry(api, prompt_id);
  if (before.kind !== 'unknown') return before;
  const answer = await api.get('queue');
  if (answer.kind === 'unreachable') return { kind: 'unclear', why: answer.why };
  const place = readQueuePlace(answer.text, prompt_id);
  if (place === 'unreadable') return unclear('queue', answer.status);
  // Between the two answers it may have ended.
  return place === 'absent' ? readEntry(api, prompt_id) : { kind: place };
};

const readEntry = async (api: ComfyApi, prompt_id: string): Promise<LookedUp> => {
  const answer = await api.get(`history/${prompt_id}`);
  if (answer.kind === 'unreachable') return { kind: 'unclear', why: answer.why };
  const history = readHistory(answer.text, prompt_id);
  if (history.kind === 'absent') return { kind: 'unknown' };
  return history.kind === 'ended' ? history : unclear('history', answer.status);
};

const unclear = (what: string, status: number): LookedUp => ({
  kind: 'unclear',
  why: `its answer about the ${what}, with status ${status}, is not what ComfyUI answers`,
});
