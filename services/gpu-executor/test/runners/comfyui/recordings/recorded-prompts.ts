import { isJsonObject } from '@runledger/contracts/json';
import { recordedMessage, recordedText, type RecordedCase, type RecordedLine } from './recorded-cases.ts';

/** A prompt of a recording, as its client saw it. */
export interface RecordedPrompt {
  readonly prompt_id: string;
  readonly workflow: unknown;
  /** What the client's websocket received from the prompt's begin on, also about others. */
  readonly messages: readonly (string | Uint8Array)[];
  /** The texts of `GET /history/{prompt_id}`, in the order of time. */
  readonly histories: readonly string[];
  /** What the answer to `POST /prompt` says about its nodes. */
  readonly accepted: string;
}

export interface RecordedExchange {
  readonly request: RecordedLine;
  readonly response: RecordedLine;
}

/** Requests with their answers; those without one are left out. */
export const recordedExchanges = ({ lines }: RecordedCase): RecordedExchange[] =>
  lines.flatMap((request, index) => {
    if (request.dir !== 'http-request' || request.upgrade === true) return [];
    const response = lines
      .slice(index)
      .find(({ dir, n, who }) => dir === 'http-response' && n === request.n && who === request.who);
    return response === undefined ? [] : [{ request, response }];
  });

/** All prompts that the server accepted, in the order in which they were sent. */
export const recordedPrompts = (recorded: RecordedCase): RecordedPrompt[] => {
  const exchanges = recordedExchanges(recorded);
  return exchanges.flatMap(({ request, response }) => {
    if (request.method !== 'POST' || !/^(\/api)?\/prompt$/.test(request.path ?? '')) return [];
    const { body } = response;
    if (response.status !== 200 || !isJsonObject(body) || typeof body['prompt_id'] !== 'string') return [];
    const { prompt_id } = body;
    const sent = isJsonObject(request.body) ? request.body : {};
    const begin = recorded.lines.indexOf(request);
    return [
      {
        prompt_id,
        workflow: sent['prompt'],
        accepted: recordedText(response),
        messages: recorded.lines
          .slice(begin)
          .filter(({ who }) => who === request.who)
          .map(recordedMessage)
          .filter((message) => message !== undefined),
        histories: exchanges
          .filter(({ request: { path, n = 0 } }) => path === `/history/${prompt_id}` && n > (request.n ?? 0))
          .map(({ response: history }) => recordedText(history)),
      },
    ];
  });
};
