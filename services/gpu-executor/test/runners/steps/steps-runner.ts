import { errorOf } from '@runledger/contracts/events/run-error';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import { aborted, sleep, untilAborted } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { FILE_LIMITS, collectFiles } from '../../../src/runners/output-files.ts';
import type { RunnerType } from '../../../src/runners/runner-type.ts';
import type { RunData, RunObserver, RunResult, RunnerWork } from '../../../src/runners/runner.ts';

const Step = Type.Union([
  Type.Object({ progress: Type.Number(), live_status: Type.Optional(Type.String()) }),
  Type.Object({ log: Type.String() }),
  Type.Object({ text: Type.Record(Type.String(), Type.Array(Type.String())) }),
  Type.Object({ file: Type.String(), content: Type.String() }),
  Type.Object({ copy: Type.String(), to: Type.String() }),
  Type.Object({ fail: Type.String() }),
  Type.Object({ wait: Type.Enum(['until cancelled', 'forever']) }),
]);
type Step = Static<typeof Step>;
const steps = Compile(Type.Array(Step));

const settings = {
  EXECUTOR_STEPS: Type.Boolean({ default: false, description: 'whether workflows of steps are executed' }),
};

/** Executes workflows that are a list of steps, in this process. */
export const stepsRunnerType: RunnerType<typeof settings> = {
  kind: 'steps',
  settings,
  configure: async ({ EXECUTOR_STEPS }) =>
    EXECUTOR_STEPS
      ? {
          kind: 'steps',
          capabilities: {},
          entries: [],
          open: ({ cancelGraceMs }) => ({
            outputId: () => 'steps',
            run: (work, observe, signal) => runSteps(work, observe, signal, cancelGraceMs),
          }),
        }
      : { problems: [{ variable: 'EXECUTOR_STEPS', wrong: 'is false', right: 'true' }] },
};

const runSteps = async (
  work: RunnerWork,
  observe: RunObserver,
  signal: AbortSignal,
  graceMs: number,
): Promise<RunResult> => {
  // The executor may cancel right after it began.
  await sleep(0);
  if (signal.aborted) return { outcome: 'cancelled', forced: false, files: [] };
  if (!steps.Check(work.workflow))
    return { outcome: 'not_runnable', why: 'its workflow is not a list of steps' };
  if (!(await observe.begin(0, null))) return { outcome: 'cancelled', forced: false, files: [] };
  const text: Record<string, string[]> = {};
  const executing = executeSteps(work.workflow, work, observe, { text, signal });
  await untilAborted(executing, signal);
  // Without a cancel the steps have ended.
  const ended = await within(graceMs, executing, () => 'forced' as const);
  const { files } = await collectFiles(work.outputDir, FILE_LIMITS);
  if (signal.aborted) return { outcome: 'cancelled', forced: ended === 'forced', files };
  if (ended !== null) return { outcome: 'failed', error: errorOf('execution_error', ended), files };
  return result(text, files);
};

const result = (text: RunData, files: Extract<RunResult, { outcome: 'succeeded' }>['files']): RunResult => {
  if (Buffer.byteLength(JSON.stringify(text)) <= MAX_OUTPUTS_BYTES) {
    return { outcome: 'succeeded', data: text, files };
  }
  const message = 'The text outputs are larger than 256 KiB as JSON.';
  return { outcome: 'failed', error: errorOf('output_too_large', message), files };
};

/** The message of a failure; null when every step succeeded. */
const executeSteps = async (
  workflow: readonly Step[],
  { inputs, inputDir, outputDir }: RunnerWork,
  observe: RunObserver,
  { text, signal }: { readonly text: Record<string, string[]>; readonly signal: AbortSignal },
): Promise<string | null> => {
  let live_status: string | null = null;
  for (const step of workflow) {
    if ('fail' in step) return step.fail;
    if ('progress' in step) {
      live_status = step.live_status ?? live_status;
      observe.progress({ progress: step.progress, live_status });
    } else if ('log' in step) observe.log({ stream: 'runner', line: step.log });
    else if ('text' in step) {
      for (const [kind, values] of Object.entries(step.text)) (text[kind] ??= []).push(...values);
    } else if ('file' in step) {
      const path = join(outputDir, step.file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, step.content);
    } else if ('copy' in step) {
      await mkdir(outputDir, { recursive: true });
      await copyFile(join(inputDir, String(inputs[step.copy])), join(outputDir, step.to));
    } else if (step.wait === 'until cancelled') await aborted(signal);
    else await new Promise(() => undefined);
  }
  return null;
};
