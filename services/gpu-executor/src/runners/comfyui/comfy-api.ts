import { type Span, readHistory, type PromptEnd, readQueuePosition } from './prompt-state.decide.ts';
import type { NodeClass } from './workflow.decide.ts';
import type { WayToServer } from '../model-server/through-socket.ts';
import { boundedText, whyOf } from '../model-server/model-server.ts';
import {
  outputFolder,
  writtenFiles,
  type ComfyAnswer,
  type ServerLocation,
  type ServerReads,
  type WrittenFiles,
} from './output-folder.ts';

/** The HTTP interface of one server. Nothing here throws: a server that cannot be reached is a value. */
export interface ComfyApi extends ServerReads {
  post(path: string, body: unknown): Promise<ComfyAnswer>;
  /** A file of an input, as a form with some fields beside it. */
  upload(path: string, form: FormData): Promise<ComfyAnswer>;
  /** The body as it comes. */
  download(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Download>;
  readonly openSocket: (clientId: string) => WebSocket;
  /** The files that it wrote into its output folder while it executed a prompt, but those of other attempts. */
  readonly written: (own: string, span: Span) => Promise<WrittenFiles>;
  /** What it has said of its classes of nodes, by their names. */
  readonly knownClasses: Map<string, NodeClass>;
}

type Download =
  | { readonly kind: 'body'; readonly body: AsyncIterable<Uint8Array> }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unreachable'; readonly why: string };

const ANSWERS_WITHIN_MS = 30_000;
/** An upload has the bytes of a file to take, and the check of a large prompt opens its input files. */
const TAKES_WITHIN_MS = 300_000;
/** As many as a websocket message may have. A history entry is as large as the outputs that are text. */
const MAX_TEXT_BYTES = 128 * 1024 ** 2;

/** The address of the server ends with a slash. `dispatcher`: the way to it, when it is no port that its address names. */
export const comfyApi = (position: ServerLocation, dispatcher?: WayToServer): ComfyApi => {
  const { url: base } = position;
  const way = dispatcher === undefined ? {} : { dispatcher };
  const urlOf = (path: string, query: Readonly<Record<string, string>> = {}): URL => {
    const url = new URL(path, base);
    url.search = new URLSearchParams(query).toString();
    return url;
  };
  const post = (path: string, body: FormData | string): Promise<ComfyAnswer> =>
    answerOf(urlOf(path), {
      method: 'POST',
      body,
      ...way,
      ...(typeof body === 'string' ? { headers: { 'Content-Type': 'application/json' } } : {}),
      signal: AbortSignal.timeout(TAKES_WITHIN_MS),
    });
  const get: ComfyApi['get'] = (path, query) =>
    answerOf(urlOf(path, query), { ...way, signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) });
  return {
    get,
    written: async (own, span) => {
      const folder = await outputFolder(position, { get });
      return folder === null ? { kind: 'unseen' } : writtenFiles(folder, own, span);
    },
    post: (path, body) => post(path, JSON.stringify(body)),
    upload: post,
    download: async (query, signal) => {
      try {
        const response = await fetch(urlOf('view', query), { ...way, signal, redirect: 'error' });
        if (response.status === 200 && response.body) return { kind: 'body', body: response.body };
        await response.body?.cancel();
        return { kind: 'refused', status: response.status };
      } catch (error) {
        return { kind: 'unreachable', why: whyOf(error) };
      }
    },
    openSocket: (clientId) => {
      const url = urlOf('ws', { clientId });
      url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
      return dispatcher === undefined ? new WebSocket(url) : new WebSocket(url, way);
    },
    knownClasses: new Map(),
  };
};

const answerOf = async (url: URL, request: RequestInit): Promise<ComfyAnswer> => {
  try {
    const response = await fetch(url, { ...request, redirect: 'error' });
    const text = await boundedText(response.body, MAX_TEXT_BYTES);
    if (text === undefined)
      return { kind: 'unreachable', why: `it answers with more than ${MAX_TEXT_BYTES} bytes` };
    return { kind: 'answered', status: response.status, text };
  } catch (error) {
    return { kind: 'unreachable', why: whyOf(error) };
  }
};

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
  const position = readQueuePosition(answer.text, prompt_id);
  if (position === 'unreadable') return unclear('queue', answer.status);
  // Between the two answers it may have ended.
  return position === 'absent' ? readEntry(api, prompt_id) : { kind: position };
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
