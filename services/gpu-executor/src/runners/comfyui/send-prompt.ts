import { errorMessage, errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { MAX_ERROR_NAME } from '@runledger/contracts/limits';
import { sleep } from '@runledger/resilience/abort';
import { readNodeClass, type NodeClass, type ExtraData, type ComfyWorkflow } from './workflow.decide.ts';
import { nodeName, refusedNodes, refusedPrompt } from './prompt-error.decide.ts';
import type { Witnesses } from './witnesses.decide.ts';
import { type ComfyApi, lookUp } from './comfy-api.ts';
import type { ComfyAnswer } from './output-folder.ts';

export interface NewPrompt {
  /** A UUID in lower case. */
  readonly prompt_id: string;
  readonly clientId: string;
  /** With its witnesses. */
  readonly workflow: ComfyWorkflow;
  readonly witnesses: Witnesses;
  readonly extraData: ExtraData;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
}

export type Sent =
  | { readonly kind: 'sent' }
  /** The rest of it may run, and would end in success. */
  | { readonly kind: 'refused'; readonly error: AttemptError }
  | { readonly kind: 'unreachable'; readonly why: string };

const SEND_AGAIN_MS = 500;
const SUCCESS = 200;
/** Answers of a proxy before the server. */
const GATEWAY_ERRORS: readonly number[] = [502, 503, 504];

/** Sends a prompt, once: after an answer that is lost the server may have it. Gives up when the signal is aborted. */
export const sendPrompt = async (
  api: ComfyApi,
  { prompt_id, clientId, workflow, extraData }: NewPrompt,
  stop: AbortSignal,
): Promise<Sent> => {
  for (;;) {
    const answer = await api.post('prompt', {
      prompt: workflow,
      prompt_id,
      client_id: clientId,
      extra_data: extraData,
    });
    if (answer.kind === 'answered' && answer.status < 500) return read(workflow, answer);
    const known = await untilClear(api, prompt_id, stop);
    // It may be accepted although the answer is an error.
    if (known === 'known') return { kind: 'sent' };
    if (answer.kind === 'answered' && !GATEWAY_ERRORS.includes(answer.status)) return read(workflow, answer);
    if (stop.aborted)
      return {
        kind: 'unreachable',
        why: answer.kind === 'unreachable' ? answer.why : `status ${answer.status}`,
      };
    await sleep(SEND_AGAIN_MS, stop);
  }
};

const untilClear = async (
  api: ComfyApi,
  prompt_id: string,
  stop: AbortSignal,
): Promise<'known' | 'unknown'> => {
  for (;;) {
    const found = await lookUp(api, prompt_id);
    if (found.kind !== 'unclear') return found.kind === 'unknown' ? 'unknown' : 'known';
    if (stop.aborted) return 'unknown';
    await sleep(SEND_AGAIN_MS, stop);
  }
};

const read = (
  workflow: ComfyWorkflow,
  { status, text }: ComfyAnswer & { readonly kind: 'answered' },
): Sent => {
  if (status !== SUCCESS) return { kind: 'refused', error: refusedPrompt(workflow, status, text) };
  const answer = parseJson(text);
  const error = refusedNodes(workflow, isJsonObject(answer) ? answer['node_errors'] : undefined);
  return error === undefined ? { kind: 'sent' } : { kind: 'refused', error };
};

/** The nodes whose class the server does not have; null when it has all, or does not say. */
export const missingNodes = async (api: ComfyApi, workflow: ComfyWorkflow): Promise<AttemptError | null> => {
  const missing: string[] = [];
  for (const [id, { class_type }] of Object.entries(workflow)) {
    const found = await findClass(api, class_type);
    if (found === 'unclear') return null;
    if (found === 'missing') missing.push(id);
  }
  const [first] = missing;
  if (first === undefined) return null;
  const names = missing.map((id) => nodeName(workflow, id)).join(', ');
  const message = `The ComfyUI server of this executor does not have the class of: ${names}. Install the custom nodes that bring it there, and start the server again.`;
  return errorOf('not_runnable', errorMessage(message), {
    node: first.slice(0, MAX_ERROR_NAME),
    retryable: false,
  });
};

/** A class of nodes of the server; asked for once. `unclear`: it does not say whether it has it. */
export const findClass = async (
  api: ComfyApi,
  class_type: string,
): Promise<NodeClass | 'missing' | 'unclear'> => {
  const known = api.knownClasses.get(class_type);
  if (known !== undefined) return known;
  const answer = await api.get(`object_info/${encodeURIComponent(class_type)}`);
  const info = answer.kind === 'answered' && answer.status === SUCCESS ? parseJson(answer.text) : undefined;
  if (!isJsonObject(info)) return 'unclear';
  if (!Object.hasOwn(info, class_type)) return 'missing';
  const found = readNodeClass(class_type, info[class_type]);
  api.knownClasses.set(class_type, found);
  return found;
};
