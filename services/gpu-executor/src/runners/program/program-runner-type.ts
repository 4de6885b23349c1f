import { Type } from 'typebox';
import { residentRunner } from './resident-runner.ts';
import { dedicatedOf } from '../operator-command.ts';
import type { RunnerHost, RunnerType } from '../runner-type.ts';
import type { Runner } from '../runner.ts';
import { readAllowList, type AllowList } from './allow-list.ts';
import { programRunner } from './program-runner.ts';

const settings = {
  EXECUTOR_PROGRAMS: Type.String({
    default: '{}',
    description:
      'the allow-list of programs as JSON: {"name": ["command", "argument"]}; {"name": {"command", "mode": "resident"}} stays loaded between runs, {"name": {"command", "organisations": ["ID"]}} is for these organisations only',
  }),
};

/** Programs of the executor's own allow-list. */
export const programRunnerType: RunnerType<typeof settings> = {
  kind: 'program',
  settings,
  configure: async ({ EXECUTOR_PROGRAMS }, { PATH = '' }) => {
    const list = await readAllowList(EXECUTOR_PROGRAMS, PATH);
    if (!list.ok) return { problems: list.problems };
    const { programs } = list;
    const names = [...programs.once.keys(), ...programs.resident.keys()];
    return {
      kind: 'program',
      capabilities: { programs: names, dedicated: dedicatedOf(programs.organisations) },
      entries: [...programs.once, ...programs.resident].map(([name, command]) => ({
        name: `the program ${JSON.stringify(name)}`,
        command,
        organisations: programs.organisations.get(name) ?? null,
      })),
      open: (host) => ({
        run: runnerOf(host, programs),
        outputId: (choice) => (choice.kind === 'program' ? choice.program : choice.kind),
      }),
    };
  },
};

const runnerOf = (host: RunnerHost, { once, resident }: AllowList): Runner['run'] => {
  const onceRunner = programRunner({ ...host, programs: once });
  const residents = new Map(
    [...resident].map(([name, program]) => [name, residentRunner(host, name, program)]),
  );
  return (work, observe, signal) => {
    const { choice } = work;
    const runner = choice.kind === 'program' ? residents.get(choice.program) : undefined;
    return (runner ?? onceRunner).run(work, observe, signal);
  };
};
