import type { Step } from './play.ts';

export interface QueuedPrompt {
  readonly number: number;
  readonly prompt_id: string;
  readonly client_id: string | undefined;
  readonly extra_data?: Readonly<Record<string, unknown>>;
  readonly prompt: Readonly<
    Record<string, { readonly class_type: string; readonly inputs: Record<string, unknown> }>
  >;
}

export interface StoredOutput {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

/** What surrounds the engine: who listens, and where files are. */
export interface EngineHost {
  tell(client_id: string | undefined, message: object | string | Uint8Array): void;
  store(file: StoredOutput, content: Uint8Array): void;
  /** Into its output folder. */
  write(path: string, content: string): void;
  inputFile(name: string): Uint8Array | undefined;
  crash(): void;
}

export interface Engine {
  readonly pending: QueuedPrompt[];
  readonly running: () => QueuedPrompt | null;
  /** The texts of the entries, by prompt. */
  readonly history: Map<string, string>;
  add(prompt: QueuedPrompt): void;
  interrupt(): void;
}

class Failure extends Error {}
class Interrupted extends Error {}

/** Executes prompts one after the other, and says and keeps what a server does. */
export const createEngine = (host: EngineHost): Engine => {
  const pending: QueuedPrompt[] = [];
  const history = new Map<string, string>();
  let running: QueuedPrompt | null = null;
  let interrupt = newInterrupt();

  const work = async (): Promise<void> => {
    for (let next = pending.shift(); next && running === null; next = pending.shift()) {
      running = next;
      interrupt = newInterrupt();
      const isAlive = await execute(next, host, history, interrupt);
      if (!isAlive) return;
      running = null;
      host.tell(next.client_id, { type: 'executing', data: { node: null, prompt_id: next.prompt_id } });
    }
  };
  return {
    pending,
    running: () => running,
    history,
    add: (prompt) => {
      pending.push(prompt);
      if (running === null) setImmediate(() => void work());
    },
    interrupt: () => interrupt.raise(),
  };
};

interface Interrupt {
  isRaised: boolean;
  readonly raised: Promise<void>;
  readonly raise: () => void;
}

const newInterrupt = (): Interrupt => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const interrupt: Interrupt = {
    isRaised: false,
    raised: promise,
    raise: () => {
      interrupt.isRaised = true;
      resolve();
    },
  };
  return interrupt;
};

/** False when the thread has ended, as a node may make it. */
const execute = async (
  queued: QueuedPrompt,
  host: EngineHost,
  history: Map<string, string>,
  interrupt: Interrupt,
): Promise<boolean> => {
  const { prompt_id, client_id, prompt } = queued;
  const said: [string, object][] = [];
  const tell = (type: string, data: object): void => {
    const whole = { ...data, prompt_id, timestamp: Date.now() };
    said.push([type, whole]);
    host.tell(client_id, { type, data: whole });
  };
  const outputs: Record<string, Record<string, unknown[]>> = {};
  tell('execution_start', {});
  tell('execution_cached', { nodes: [] });
  let status = { status_str: 'success', completed: true };
  for (const [node, { inputs, class_type }] of inOrder(prompt)) {
    const steps = Array.isArray(inputs['steps']) ? (inputs['steps'] as Step[]) : [];
    const output: Record<string, unknown[]> = {};
    // Others are heard of by their progress.
    if (class_type.startsWith('ComfyUIDeployExternal')) tell('executing', { node, display_node: node });
    const player = { ...queued, node, class_type, inputs, output, host, tell, interrupt };
    try {
      if (class_type === 'PreviewAny') output['text'] = [await previewed(player)];
      for (const step of steps) if ((await play(step, player)) === 'dead') return false;
      if (interrupt.isRaised) throw new Interrupted();
    } catch (error) {
      status = { status_str: 'error', completed: false };
      if (error instanceof Interrupted)
        tell('execution_interrupted', { node_id: node, node_type: class_type });
      else
        tell('execution_error', {
          node_id: node,
          node_type: class_type,
          exception_type: 'ValueError',
          exception_message: `${(error as Error).message}\n`,
        });
    }
    if (Object.keys(output).length > 0) outputs[node] = output;
    if (!status.completed) break;
    tell('executed', { node, display_node: node, output });
  }
  if (status.completed) tell('execution_success', {});
  const entry = { prompt: [], outputs, status: { ...status, messages: said } };
  history.set(prompt_id, JSON.stringify({ [prompt_id]: entry }));
  return true;
};

/** A preview comes as soon as there is what it shows. */
const inOrder = (prompt: QueuedPrompt['prompt']): [string, QueuedPrompt['prompt'][string]][] => {
  const nodes = Object.entries(prompt);
  const isPreviewOf = (id: string, { class_type, inputs }: QueuedPrompt['prompt'][string]): boolean =>
    class_type === 'PreviewAny' && String(inputs['source']).split(',')[0] === id;
  return nodes.flatMap(([id, node]) =>
    node.class_type === 'PreviewAny'
      ? []
      : [[id, node], ...nodes.filter(([, other]) => isPreviewOf(id, other))],
  );
};

interface Player extends QueuedPrompt {
  readonly node: string;
  readonly class_type: string;
  readonly inputs: Record<string, unknown>;
  readonly output: Record<string, unknown[]>;
  readonly host: EngineHost;
  readonly tell: (type: string, data: object) => void;
  readonly interrupt: Interrupt;
}

const play = async (step: Step, player: Player): Promise<'dead' | undefined> => {
  const { node, output, host, tell, interrupt, client_id } = player;
  if ('progress' in step) tell('progress_state', stateOf(node, step.progress, step.max ?? 1));
  else if ('text' in step)
    for (const [kind, values] of Object.entries(step.text)) (output[kind] ??= []).push(...values);
  else if ('file' in step) save(step.file, Buffer.from(step.content), player);
  else if ('unnamed' in step) {
    output['images'] ??= [];
    if (step.content !== '') host.write(step.unnamed, step.content);
  } else if ('copy' in step) save(step.copy, await readGiven(player), player);
  else if ('say' in step) host.tell(client_id, textFrame(node, step.say));
  else if ('print' in step) process.stdout.write(`${step.print}\n`);
  else if ('fail' in step) throw new Failure(step.fail);
  else if ('crash' in step) {
    host.crash();
    return 'dead';
  } else if ('die' in step) return 'dead';
  else if ('raw' in step) host.tell(client_id, step.raw);
  else if ('flood' in step) await flood(step.flood, player);
  else if (step.wait === 'for ever') await new Promise(() => undefined);
  else if (step.wait === 'for an interrupt') await interrupt.raised;
  else await new Promise((resolve) => setTimeout(resolve, step.wait as number));
  return undefined;
};

/**
 * What a node is given. The external nodes of ComfyUI Deploy fetch URLs, and take their default for anything else and for what they cannot
 * read, without a word; a batch has the pictures before such a one. A node of the server reads an uploaded file.
 */
const readGiven = async ({ class_type, inputs, host }: Player): Promise<Buffer> => {
  const kind = class_type.replace(/^ComfyUIDeployExternal/, '');
  const text = (name: string): string => (typeof inputs[name] === 'string' ? inputs[name] : '');
  if (kind === class_type) return Buffer.from(host.inputFile(text('image')) ?? 'no such file');
  const uploaded = kind === 'Audio' ? host.inputFile(text('audio_file')) : undefined;
  const read = uploaded === undefined ? await fetchGiven(kind, text) : [uploaded].filter(isPicture);
  if (read.length > 0) return Buffer.concat(read);
  if (text('default_value') === '') throw new Failure("'NoneType' object is not subscriptable");
  return Buffer.from(text('default_value'));
};

/** What a node of ComfyUI Deploy has, as Python writes it. */
const previewed = async (player: Player): Promise<string> => {
  const source = player.prompt[String(player.inputs['source']).split(',')[0] ?? ''];
  const nothing = source?.class_type === 'ComfyUIDeployExternalFile' ? '' : 'None';
  if (source === undefined) return nothing;
  return readGiven({ ...player, ...source }).then(
    (content) => `tensor([${content.length}])`,
    () => nothing,
  );
};

const fetchGiven = async (kind: string, text: (name: string) => string): Promise<Buffer[]> => {
  const given =
    kind === 'ImageBatch'
      ? (JSON.parse(text('images')) as string[])
      : [text(kind === 'File' ? 'file_url' : 'input_id')];
  const read: Buffer[] = [];
  for (const url of given) {
    if (!url.startsWith('http')) return read;
    const content = Buffer.from(await (await fetch(url)).arrayBuffer());
    if (!isPicture(content)) return read;
    read.push(content);
  }
  return read;
};

/** Whether the server can decode it; a sound likewise. */
export const isPicture = (content: Uint8Array): boolean => !Buffer.from(content).includes('not a picture');

const stateOf = (node: string, value: number, max: number): object => ({
  nodes: { [node]: { value, max, state: 'running', node_id: node } },
});

/** In the folder that the prefix of the node names. */
const save = (path: string, content: Uint8Array, { inputs, output, host }: Player): void => {
  const given = inputs['filename_prefix'];
  const prefix = (typeof given === 'string' ? given : '').split('/').slice(0, -1);
  const parts = [...prefix, ...path.split('/')];
  const file = { filename: parts.at(-1) ?? '', subfolder: parts.slice(0, -1).join('/'), type: 'output' };
  host.store(file, content);
  (output['files'] ??= []).push(file);
};

const textFrame = (node: string, text: string): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(3, 0);
  head.writeUInt32BE(node.length, 4);
  return Buffer.concat([head, Buffer.from(node + text)]);
};

const flood = async (bytes: number, { node, tell }: Player): Promise<void> => {
  const nodes = Object.fromEntries(
    Array.from({ length: 400 }, (_, index) => [`${node}.${index}`, { value: 0, max: 1, state: 'running' }]),
  );
  const size = JSON.stringify(nodes).length;
  for (let sent = 0; sent < bytes; sent += size) {
    tell('progress_state', { nodes });
    if (sent % (size * 50) === 0) await new Promise((resolve) => setImmediate(resolve));
  }
};
