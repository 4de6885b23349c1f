import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { logLine, SLOT } from './log-line.ts';
import { newPrediction, perform, type TestPrediction } from './predictions.ts';

/** Says over HTTP what a server of Cog 0.23.1 says, and does the steps that the input of a prediction names. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  /** What it is from now on. */
  become(status: 'STARTING' | 'READY' | 'SETUP_FAILED'): void;
  /** The ids of the predictions whose input it took. */
  readonly executed: readonly string[];
  /** Cuts the connections of predictions that wait for their end. */
  cut(): void;
  /** It executes something for somebody else, until the returned function is called. */
  occupy(): () => void;
}

export interface TestServerOptions {
  readonly port?: number;
  /** Instead of a restart. */
  readonly onCrash?: () => void;
  /** With the schema of a built model it refuses inputs that are not as it says, even those of a look. */
  readonly hasSchema?: boolean;
  /** It writes what it does to its output. */
  readonly isLogging?: boolean;
  /** What its schema says of its output; without it there is no document. */
  readonly output?: object;
}

export const startTestServer = async (options: TestServerOptions = {}): Promise<TestServer> => {
  const state: State = { options, status: 'READY', current: null, executed: [], waiting: new Set() };
  const server = createServer((request, response) => {
    // A client that cuts its connection sends no more.
    handle(state, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    executed: state.executed,
    become: (status) => {
      state.status = status;
    },
    cut: () => {
      for (const response of state.waiting) response.destroy();
    },
    occupy: () => {
      state.current = newPrediction('somebody', {});
      return () => {
        state.current = null;
      };
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const ORCHESTRATOR = 'coglet::orchestrator';

interface State {
  readonly options: TestServerOptions;
  status: 'STARTING' | 'READY' | 'SETUP_FAILED' | 'UNHEALTHY';
  current: TestPrediction | null;
  readonly executed: string[];
  readonly waiting: Set<ServerResponse>;
}

const handle = async (state: State, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const [, first, id = '', last] = (request.url ?? '').split('/');
  if (first === 'health-check') return answer(response, 200, health(state));
  if (first === 'openapi.json')
    return state.options.output
      ? answer(response, 200, { components: { schemas: { Output: state.options.output } } })
      : answer(response, 404, { error: 'OpenAPI schema not available' });
  if (first !== 'predictions') return answer(response, 404, {});
  if (last === 'cancel') return cancel(state, id, response);
  if (request.method !== 'PUT') return answer(response, 405, {});
  const { input = {} } = (await json(request)) as { readonly input?: unknown };
  if (state.current?.id === id) {
    answer(response, 202, shown(state.current));
    state.current.events.emit('look');
    return;
  }
  if (state.status === 'STARTING' || state.status === 'SETUP_FAILED')
    return answer(response, 503, { error: 'Setup has not finished yet.', status: 'failed' });
  if (state.options.hasSchema === true && Array.isArray(input))
    return answer(response, 422, { detail: [{ loc: ['body', 'input'], msg: 'not of type "object"' }] });
  if (state.current !== null || state.status === 'UNHEALTHY')
    return answer(response, 409, { error: 'At capacity - all prediction slots busy', status: 'failed' });
  const prediction = newPrediction(id, input);
  if (request.headers.prefer === 'respond-async') {
    answer(response, 202, { id, status: 'starting' });
    return execute(state, prediction);
  }
  return executeAndWait(state, prediction, response);
};

const execute = async (state: State, prediction: TestPrediction): Promise<void> => {
  if (!Array.isArray(prediction.input)) state.executed.push(prediction.id);
  state.current = prediction;
  const { id: prediction_id } = prediction;
  const { isLogging = false } = state.options;
  if (isLogging)
    logLine('DEBUG', ORCHESTRATOR, { message: 'Registered prediction', slot_id: SLOT, prediction_id });
  await perform(prediction, (what) => {
    state.status = 'UNHEALTHY';
    if (what === 'server') (state.options.onCrash ?? (() => restart(state)))();
  });
  if (isLogging && prediction.status === 'succeeded')
    logLine('INFO', 'coglet::prediction', { message: 'Prediction worker completed', prediction_id });
  if (state.current === prediction) state.current = null;
};

/** As whoever keeps it running starts it again. */
const restart = (state: State): void => {
  for (const response of state.waiting) response.destroy();
  state.status = 'STARTING';
  setTimeout(() => {
    state.status = 'READY';
  }, SETUP_MS);
};

const SETUP_MS = 300;

const executeAndWait = async (
  state: State,
  prediction: TestPrediction,
  response: ServerResponse,
): Promise<void> => {
  state.waiting.add(response);
  response.once('close', () => {
    state.waiting.delete(response);
    stop(prediction);
  });
  await execute(state, prediction);
  answer(response, 200, shown(prediction));
};

const stop = (prediction: TestPrediction): void => {
  prediction.isCancelled = true;
  prediction.events.emit('cancel');
};

const cancel = (state: State, id: string, response: ServerResponse): void => {
  if (state.current?.id !== id) return answer(response, 404, {});
  stop(state.current);
  answer(response, 200, {});
};

const health = ({ status, current }: State): object => {
  const logs = status === 'SETUP_FAILED' ? 'worker setup failed: RuntimeError: no weights at /weights\n' : '';
  return { status: status === 'READY' && current !== null ? 'BUSY' : status, setup: { logs } };
};

/** One that failed or was canceled ends without its logs and outputs. */
const shown = ({ id, status, input, logs, output, error }: TestPrediction): object => {
  if (status === 'failed' || status === 'canceled') return { id, status, error, logs: '', metrics: {} };
  return status === 'processing' ? { id, status, input, logs, output } : { id, status, logs, output };
};

const answer = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
};
