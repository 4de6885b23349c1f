import { EventEmitter, once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { logLine, SLOT } from './log-line.ts';
import { dataUrl, type Step } from './steps.ts';

export interface TestPrediction {
  readonly id: string;
  readonly input: unknown;
  status: 'processing' | 'succeeded' | 'failed' | 'canceled';
  logs: string;
  output: unknown;
  error: string | undefined;
  /** Emits `look` and `cancel`. */
  readonly events: EventEmitter;
  isCancelled: boolean;
}

export const newPrediction = (id: string, input: unknown): TestPrediction => ({
  id,
  input,
  status: 'processing',
  logs: '',
  output: null,
  error: undefined,
  events: new EventEmitter(),
  isCancelled: false,
});

/** Does the steps of a prediction to its end. */
export const perform = async (prediction: TestPrediction, crash: (what: string) => void): Promise<void> => {
  const { input } = prediction;
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return fail(prediction, 'Input validation error: Input must be a JSON object');
  }
  let inputs: Readonly<Record<string, unknown>>;
  try {
    inputs = Object.fromEntries(
      await Promise.all(
        Object.entries(input).map(async ([name, value]) => [name, await fetched(value)] as const),
      ),
    );
  } catch (error) {
    return fail(prediction, `Input validation error: ${String(error)}`);
  }
  for (const step of (inputs['steps'] ?? []) as readonly Step[]) {
    await take(prediction, step, inputs, crash);
    if (prediction.status !== 'processing') return;
  }
  prediction.status = prediction.isCancelled ? 'canceled' : 'succeeded';
};

/** Files come before the model is called. A URL gives its last part as the name of the file. */
const fetched = async (value: unknown): Promise<unknown> => {
  if (Array.isArray(value)) return Promise.all(value.map(fetched));
  if (typeof value !== 'string' || !value.startsWith('http:')) return value;
  // As in a container, whose loopback is another one.
  if (process.env['LOOPBACK'] === 'none') throw new Error('Connection refused');
  const response = await fetch(value);
  if (!response.ok) throw new Error(`${response.status} for ${value}`);
  const name = decodeURIComponent(new URL(value).pathname.split('/').at(-1) ?? '');
  return `data:${name};base64,${Buffer.from(await response.arrayBuffer()).toString('base64')}`;
};

/** A file that is not there is left out of the output, and the log alone has it. */
const put = (paths: string | readonly string[]): unknown => {
  const urls = [paths].flat().flatMap((filename) => {
    const file = { slot_id: SLOT, filename };
    const target = 'coglet::orchestrator';
    logLine('DEBUG', target, { message: 'FileOutput received', ...file, kind: 'FileType' });
    if (!filename.startsWith('/gone/')) return [dataUrl('application/octet-stream', basename(filename))];
    logLine('ERROR', target, { message: 'Failed to read FileOutput', ...file, error: 'No such file' });
    return [];
  });
  return typeof paths === 'string' ? (urls[0] ?? null) : urls;
};

const write = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
};

const fail = (prediction: TestPrediction, error: string): void => {
  prediction.status = 'failed';
  prediction.error = error;
};

const take = async (
  prediction: TestPrediction,
  step: Step,
  inputs: Readonly<Record<string, unknown>>,
  crash: (what: string) => void,
): Promise<void> => {
  const { events } = prediction;
  if ('print' in step) prediction.logs += `${step.print}\n`;
  else if ('draw' in step) prediction.logs += `\r${step.draw}`;
  else if ('output' in step) prediction.output = step.output;
  else if ('flood' in step) prediction.logs += `${'x'.repeat(999)}\n`.repeat(step.flood / 1_000);
  else if ('fail' in step) fail(prediction, `Prediction failed: Prediction failed: ValueError: ${step.fail}`);
  else if ('echo' in step) prediction.output = JSON.stringify({ ...inputs, steps: undefined });
  else if ('put' in step) prediction.output = put(step.put);
  else if ('write' in step) write(join(tmpdir(), step.write), step.content);
  else if ('child' in step) logLine('INFO', 'coglet::user', { message: step.child });
  else if ('environment' in step) prediction.output = String(process.env[step.environment]);
  else if ('copy' in step) {
    const url = String(inputs[step.copy]);
    prediction.output = { [step.to]: `data:${url.slice(url.indexOf(';'))}` };
  } else if ('crash' in step) {
    crash(step.crash);
    fail(prediction, 'Worker crashed');
  } else if (step.wait === 'for a look') await once(events, 'look');
  else if (step.wait === 'for ever') await new Promise(() => undefined);
  else if (!prediction.isCancelled) await once(events, 'cancel');
};
