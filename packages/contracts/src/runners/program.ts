import { Type } from 'typebox';
import type { RunnerKind } from './runner-kind.ts';

const choice = Type.Object({
  kind: Type.Literal('program'),
  program: Type.String({ minLength: 1, maxLength: 128 }),
});

const runner = Type.Object(
  {
    kind: Type.Literal('program', { description: 'A program.' }),
    program: Type.String({
      examples: ['render-image'],
      minLength: 1,
      maxLength: 128,
      description: 'A name in the allow-list of each executor, never a command.',
    }),
  },
  { title: 'ProgramRunner', description: 'Executes a program of the executor.' },
);

/** Executes a program of the executor's allow-list. */
export const program: RunnerKind<typeof choice, typeof runner> = {
  choice,
  runner,
  choiceOf: ({ kind, program: name }) => ({ kind, program: name }),
  capability: ({ program: name }) => name,
  label: ({ program: name }) => `program ${name}`,
  offers: ({ program: name }, shorten) => `offers program ${shorten(name)}`,
  requirement: ({ program: name }) => `has the program "${name}" in EXECUTOR_PROGRAMS`,
  setting: 'EXECUTOR_PROGRAMS',
};
