import { EventEmitter, once } from 'node:events';
import type { Step } from './steps.ts';

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
  const inputs: Readonly<Record<string, unknown>> = { ...input };
  for (const step of (inputs['steps'] ?? []) as readonly Step[]) {
    await take(prediction, step, inputs, crash);
    if (prediction.status !== 'processing') return;
  }
  prediction.status = prediction.isCancelled ? 'canceled' : 'succeeded';
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
