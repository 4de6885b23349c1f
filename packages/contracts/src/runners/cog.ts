import { Type } from 'typebox';
import type { RunnerKind } from './runner-kind.ts';

/** As a program's name, but shorter: the name of the capability is not longer than that of a program may be. */
export const COG_MODEL_NAME = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$';

const choice = Type.Object({
  kind: Type.Literal('cog'),
  model: Type.String({ minLength: 1, maxLength: 64 }),
});

const runner = Type.Object(
  {
    kind: Type.Literal('cog', { description: 'A model in a Cog server.' }),
    model: Type.String({
      examples: ['flux-schnell'],
      pattern: COG_MODEL_NAME,
      description: 'The name of a model server in the settings of each executor, never an address.',
    }),
  },
  { title: 'CogRunner', description: 'Executes a model with a Cog server of the executor.' },
);

/** Executes a model with a Cog server of the executor's own settings. */
export const cog: RunnerKind<typeof choice, typeof runner> = {
  choice,
  runner,
  choiceOf: ({ kind, model }) => ({ kind, model }),
  capability: ({ model }) => `runner:cog:${model}`,
  label: ({ model }) => `cog ${model}`,
  offers: ({ model }, shorten) => `offers the Cog model ${shorten(model)}`,
  requirement: ({ model }) => `has the model "${model}" in EXECUTOR_COG`,
  setting: 'EXECUTOR_COG',
};
