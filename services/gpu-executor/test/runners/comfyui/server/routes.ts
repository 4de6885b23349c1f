import type { IncomingMessage, ServerResponse } from 'node:http';
import { isPicture, type Engine, type QueuedPrompt } from './engine.ts';

/** What goes wrong. */
export interface Faults {
  /** So many interrupts have no effect, although they are answered with 200. */
  lostInterrupts: number;
  /** So many prompts are accepted, and the connection ends without an answer. */
  lostAnswers: number;
  /** So many prompts are accepted, and answered with 500. */
  falseErrors: number;
  /** Websockets are refused. */
  isMute: boolean;
  /** Every request is answered with 502, as by a proxy. */
  isDown: boolean;
  /** Of the answer to a prompt. */
  nodeErrors: object;
  readonly missingNodes: Set<string>;
  /** A prompt is refused with this. */
  refusal: { readonly status: number; readonly text: string } | null;
}

export interface Context {
  readonly requests: string[];
  readonly prompts: QueuedPrompt[];
  readonly inputFiles: Map<string, Uint8Array>;
  readonly temporaryFiles: Map<string, Uint8Array>;
  readonly outputs: Map<string, Uint8Array>;
  readonly faults: Faults;
  /** Its command line, as it says it. */
  readonly argv: readonly string[];
  readonly add: (prompt: QueuedPrompt) => void;
  readonly engine: () => Engine;
}

/** Answers one request. */
export const answer = async (
  request: IncomingMessage,
  response: ServerResponse,
  context: Context,
): Promise<void> => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  context.requests.push(`${request.method} ${url.pathname}`);
  const bytes: Buffer[] = [];
  for await (const chunk of request) bytes.push(chunk as Buffer);
  const body = Buffer.concat(bytes);
  const [status, content] = context.faults.isDown
    ? [502, 'Bad Gateway']
    : await route(request, url, body, context);
  if (status === 0) return void request.socket.destroy();
  const isBinary = content instanceof Uint8Array;
  response.writeHead(status, { 'Content-Type': isBinary ? 'application/octet-stream' : 'application/json' });
  response.end(content);
};

/** Save nodes of the server itself, and nodes of others that end no workflow, or save as they please. */
const infoOf = (class_type: string): object => {
  const isOwn = class_type.startsWith('Save') || class_type === 'PreviewAny';
  const output_node = isOwn || class_type.startsWith('Case');
  return { output_node, python_module: isOwn ? 'nodes' : 'custom_nodes.others' };
};

type Answer = readonly [status: number, content: string | Uint8Array];

const route = async (request: IncomingMessage, url: URL, body: Buffer, context: Context): Promise<Answer> => {
  const { faults, outputs } = context;
  const engine = context.engine();
  const [, first = '', second = ''] = url.pathname.split('/').map(decodeURIComponent);
  const json = (): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>;
  switch (`${request.method} ${first}`) {
    case 'GET system_stats':
      return [200, JSON.stringify({ system: { argv: context.argv } })];
    case 'GET object_info':
      return [200, faults.missingNodes.has(second) ? '{}' : JSON.stringify({ [second]: infoOf(second) })];
    case 'GET queue':
      return [
        200,
        JSON.stringify({
          queue_running: [engine.running()].flatMap(item),
          queue_pending: engine.pending.flatMap(item),
        }),
      ];
    case 'GET history':
      return [200, engine.history.get(second) ?? '{}'];
    case 'POST history':
      for (const id of json()['delete'] as string[]) engine.history.delete(id);
      return [200, ''];
    case 'POST queue': {
      const unwanted = json()['delete'] as string[];
      const kept = engine.pending.filter(({ prompt_id }) => !unwanted.includes(prompt_id));
      engine.pending.splice(0, Infinity, ...kept);
      return [200, ''];
    }
    case 'POST interrupt':
      if (faults.lostInterrupts > 0) faults.lostInterrupts -= 1;
      else if (engine.running()?.prompt_id === json()['prompt_id']) engine.interrupt();
      return [200, ''];
    case 'POST free':
      return [200, ''];
    case 'POST prompt':
      return accept(json(), context);
    case 'POST upload':
      return upload(request, body, context);
    case 'GET view': {
      const { searchParams } = url;
      const named = (name: string): string => searchParams.get(name) ?? '';
      const file =
        outputs.get(`${named('type')}|${named('subfolder')}|${named('filename')}`) ??
        context.temporaryFiles.get(`${named('subfolder')}/${named('filename')}`);
      if (file === undefined) return [404, ''];
      const isDecoded = searchParams.has('preview') || searchParams.has('channel');
      // A JPEG has at most 65,535 pixels in a row.
      const isTooWide = searchParams.has('preview') && Buffer.from(file).includes('too wide');
      const fails = isTooWide || (isDecoded && !isPicture(file));
      return fails ? [500, '500 Internal Server Error'] : [200, file];
    }
    default:
      return [404, '404: Not Found'];
  }
};

const item = (prompt: QueuedPrompt | null): unknown[] =>
  prompt ? [[prompt.number, prompt.prompt_id, prompt.prompt, { client_id: prompt.client_id }, []]] : [];

const accept = (body: Record<string, unknown>, { faults, prompts, add }: Context): Answer => {
  if (faults.refusal) return [faults.refusal.status, faults.refusal.text];
  const prompt = { ...body, number: prompts.length } as unknown as QueuedPrompt;
  prompts.push(prompt);
  add(prompt);
  if (faults.lostAnswers > 0) {
    faults.lostAnswers -= 1;
    return [0, ''];
  }
  if (faults.falseErrors > 0) {
    faults.falseErrors -= 1;
    return [500, '500 Internal Server Error'];
  }
  const { number, prompt_id } = prompt;
  return [200, JSON.stringify({ prompt_id, number, node_errors: faults.nodeErrors })];
};

const upload = async (request: IncomingMessage, body: Buffer, context: Context): Promise<Answer> => {
  const headers = { 'Content-Type': request.headers['content-type'] ?? '' };
  const form = await new Response(new Uint8Array(body), { headers }).formData();
  const file = form.get('image');
  if (!(file instanceof File)) return [400, ''];
  const subfolder = textOf(form, 'subfolder');
  const type = textOf(form, 'type');
  const files = type === 'temp' ? context.temporaryFiles : context.inputFiles;
  files.set(`${subfolder}/${file.name}`, new Uint8Array(await file.arrayBuffer()));
  return [200, JSON.stringify({ name: file.name, subfolder, type })];
};

const textOf = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
};
