import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { parsePythonJson } from '../../../runners/output/python-json.ts';

/** Where a prompt is in the queue of the server. `behind`: another prompt runs before it. */
export type QueuePlace = 'running' | 'pending' | 'behind' | 'absent' | 'unreadable';

const Item = Type.Array(Type.Unknown(), { minItems: 2 });
const queue = compiledSchema(
  Type.Object({ queue_running: Type.Array(Item), queue_pending: Type.Array(Item) }),
);
/** The extra data of an item: its fourth value. */
const clientData = compiledSchema(Type.Object({ client_id: Type.String() }));

/** Reads the answer to `GET /queue`. */
export const readQueuePlace = (text: string, prompt_id: string): QueuePlace => {
  const answer = parsePythonJson(text);
  if (!queue.Check(answer)) return 'unreadable';
  const { queue_running, queue_pending } = answer;
  const isThis = (item: readonly unknown[]): boolean => item[1] === prompt_id;
  if (queue_running.some(isThis)) return 'running';
  if (!queue_pending.some(isThis)) return 'absent';
  return queue_running.length > 0 ? 'behind' : 'pending';
};

export interface QueuedPrompt {
  readonly prompt_id: string;
  readonly client_id: string;
}

/** The prompts in the answer to `GET /queue` whose clients are named. */
export const readQueue = (text: string): readonly QueuedPrompt[] => {
  const answer = parsePythonJson(text);
  if (!queue.Check(answer)) return [];
  return [...answer.queue_running, ...answer.queue_pending].flatMap(([, prompt_id, , extra]) =>
    typeof prompt_id === 'string' && clientData.Check(extra)
      ? [{ prompt_id, client_id: extra.client_id }]
      : [],
  );
};
