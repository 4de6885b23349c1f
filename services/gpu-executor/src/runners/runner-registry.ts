import type { TProperties } from 'typebox';
import { codeRunnerType } from './code/code-runner-type.ts';
import { cogRunnerType } from './cog/cog-runner-type.ts';
import { comfyuiRunnerType } from './comfyui/comfyui-runner.ts';
import { programRunnerType } from './program/program-runner-type.ts';
import type {
  ConfiguredHost,
  ConfiguredRunner,
  InvalidSettings,
  RunnerCapabilities,
  RunnerFor,
  RunnerHost,
  RunnerType,
} from './runner-type.ts';

/** One line for each way of executing workflows. */
export const RUNNER_TYPES: readonly RunnerType[] = [
  programRunnerType,
  cogRunnerType,
  comfyuiRunnerType,
  codeRunnerType,
];

export const settingsOf = (types: readonly RunnerType[]): TProperties =>
  Object.assign({}, ...types.map(({ settings }) => settings));

/** All runners, or all problems with their settings. */
export const configureRunners = async (
  types: readonly RunnerType[],
  settings: Readonly<Record<string, unknown>>,
  host: ConfiguredHost,
): Promise<readonly ConfiguredRunner[] | InvalidSettings> => {
  const configured = await Promise.all(types.map((type) => type.configure({ ...settings }, host)));
  const problems = configured.flatMap((runner) => ('problems' in runner ? runner.problems : []));
  return problems.length > 0
    ? { problems }
    : configured.flatMap((runner) => ('problems' in runner ? [] : [runner]));
};

/** The capabilities that the executor registers for these runners. */
export const registeredBy = (runners: readonly ConfiguredRunner[]): Required<RunnerCapabilities> => ({
  programs: runners.flatMap(({ capabilities }) => capabilities.programs ?? []),
  dedicated: Object.assign({}, ...runners.map(({ capabilities }) => capabilities.dedicated ?? {})),
});

export const openRunners = (runners: readonly ConfiguredRunner[], host: RunnerHost): RunnerFor => {
  const opened = new Map(runners.map((runner) => [runner.kind, runner.open(host)]));
  return ({ kind }) => opened.get(kind);
};
