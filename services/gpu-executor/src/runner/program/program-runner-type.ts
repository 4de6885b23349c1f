import { Type } from 'typebox';
import type { RunnerType } from '../runner-type.ts';
import { readAllowList } from './allow-list.ts';
import { programRunner } from './program-runner.ts';

const settings = {
  EXECUTOR_PROGRAMS: Type.String({
    default: '{}',
    description: 'the allow-list of programs as JSON: {"name": ["command", "argument"]}',
  }),
};

/** Programs of the executor's own allow-list. */
export const programRunnerType: RunnerType<typeof settings> = {
  kind: 'program',
  settings,
  configure: async ({ EXECUTOR_PROGRAMS }, { PATH = '' }, log) => {
    const list = await readAllowList(EXECUTOR_PROGRAMS, PATH);
    if (!list.ok) return { problems: list.problems };
    const { programs } = list;
    if (programs.size === 0) {
      log.warn({}, 'EXECUTOR_PROGRAMS names no program: every run that is assigned here will fail');
    }
    return {
      kind: 'program',
      capabilities: { programs: [...programs.keys()] },
      open: (host) => ({
        ...programRunner({ ...host, programs }),
        outputId: (choice) => (choice.kind === 'program' ? choice.program : choice.kind),
      }),
    };
  },
};
