import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, parse } from 'node:path';
import { createEngine, type Engine, type QueuedPrompt, type StoredOutput } from './engine.ts';
import { answer, type Faults } from './routes.ts';
import { acceptWebsocket, type ServerSocket } from './websockets.ts';

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly faults: Faults;
  readonly engine: () => Engine;
  /** All requests, as `POST /prompt`. */
  readonly requests: readonly string[];
  readonly prompts: readonly QueuedPrompt[];
  readonly inputFiles: ReadonlyMap<string, Uint8Array>;
  readonly temporaryFiles: ReadonlyMap<string, Uint8Array>;
  readonly outputs: Map<string, Uint8Array>;
  readonly sockets: () => number;
  /** Ends all connections at once. */
  dropSockets(): void;
  /** Is killed, and started again at once: its queue and its history are empty. */
  restart(): void;
  /** What a client of its own is told. */
  tellEverybody(message: string | Uint8Array): void;
}

export const outputKey = ({ type, subfolder, filename }: StoredOutput): string =>
  `${type}|${subfolder}|${filename}`;

interface Options {
  readonly port?: number;
  /** On disk, where it is to have one. */
  readonly outputFolder?: string;
  /** Instead of a restart. */
  readonly onCrash?: () => void;
  /** Instead of executing the nodes of a prompt. */
  readonly execute?: (prompt: QueuedPrompt, server: Executing) => void;
}

interface Executing {
  readonly tell: (message: string | Uint8Array) => void;
  readonly history: Map<string, string>;
}

/** Behaves as a ComfyUI server does to its clients, with the faults that are set. */
export const startTestServer = async (options: Options = {}): Promise<TestServer> => {
  const clients = new Map<string, ServerSocket>();
  const faults: Faults = {
    lostInterrupts: 0,
    lostAnswers: 0,
    falseErrors: 0,
    isMute: false,
    isDown: false,
    nodeErrors: {},
    missingNodes: new Set(),
    refusal: null,
  };
  const state = {
    requests: [] as string[],
    prompts: [] as QueuedPrompt[],
    inputFiles: new Map<string, Uint8Array>(),
    temporaryFiles: new Map<string, Uint8Array>(),
    argv: ['main.py', ...(options.outputFolder ? ['--output-directory', options.outputFolder] : [])],
  };
  const outputs = new Map<string, Uint8Array>();
  const dropSockets = (): void => {
    for (const socket of clients.values()) socket.destroy();
    clients.clear();
  };
  const newEngine = (): Engine =>
    createEngine({
      tell: (client_id, message) => {
        const data =
          typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message);
        for (const [id, socket] of clients)
          if (client_id === undefined || id === client_id) socket.send(data);
      },
      store: (file, content) => outputs.set(outputKey(file), content),
      write: (path, content) => {
        const { dir: subfolder, base: filename } = parse(path);
        outputs.set(outputKey({ type: 'output', subfolder, filename }), Buffer.from(content));
        if (options.outputFolder === undefined) return;
        mkdirSync(join(options.outputFolder, subfolder), { recursive: true });
        writeFileSync(join(options.outputFolder, path), content);
      },
      inputFile: (name) => state.inputFiles.get(name),
      crash: () => (options.onCrash ?? restart)(),
    });
  let engine = newEngine();
  const restart = (): void => {
    dropSockets();
    engine = newEngine();
  };

  const tellEverybody = (message: string | Uint8Array): void =>
    clients.forEach((socket) => socket.send(message));
  const add = (prompt: QueuedPrompt): void => {
    if (options.execute) options.execute(prompt, { tell: tellEverybody, history: engine.history });
    else engine.add(prompt);
  };

  const http = createServer((request, response) => {
    void answer(request, response, { ...state, faults, outputs, add, engine: () => engine });
  });
  http.on('upgrade', (request: IncomingMessage, socket) => {
    const id = new URL(request.url ?? '/', 'http://localhost').searchParams.get('clientId') ?? 'nameless';
    if (faults.isMute || faults.isDown) return void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const accepted = acceptWebsocket(request, socket);
    clients.set(id, accepted);
    accepted.send(
      JSON.stringify({ type: 'status', data: { status: { exec_info: { queue_remaining: 0 } }, sid: id } }),
    );
    if (engine.running()?.client_id === id)
      accepted.send(JSON.stringify({ type: 'executing', data: { node: '1' } }));
    void accepted.closed.then(() => clients.get(id) === accepted && clients.delete(id));
  });
  await new Promise<void>((resolve) => http.listen(options.port ?? 0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    faults,
    outputs,
    ...state,
    engine: () => engine,
    sockets: () => clients.size,
    dropSockets,
    restart,
    tellEverybody,
    [Symbol.asyncDispose]: () => close(http, dropSockets),
  };
};

const close = async (http: Server, dropSockets: () => void): Promise<void> => {
  dropSockets();
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
};
