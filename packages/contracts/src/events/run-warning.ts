import { Type, type Static } from 'typebox';
import { MAX_ERROR_NAME, MAX_WARNING_MESSAGE } from '../limits.ts';
import { enumInWords } from '../schemas.ts';

/** What a run without an output becomes. */
export const IfNoOutput = enumInWords(
  {
    warn: 'It succeeds, with a warning for each output node of its workflow that made nothing.',
    error: 'It fails with `no_output`; also where one of several output nodes made nothing.',
    ignore: 'It succeeds, without such warnings.',
  },
  {
    description:
      'What a run becomes that has made no output, although nothing reported an error. Only workflows of ComfyUI have output nodes; `error` holds for all runs without an output.',
    examples: ['warn'],
  },
);
export type IfNoOutput = Static<typeof IfNoOutput>;

const WARNINGS = {
  no_output: 'An output node of the workflow made nothing, although the server reports no error.',
  unchecked_input:
    'The server does not say whether it could read an input; the run may have gone on without it.',
} as const;

/** What is odd about a run that has succeeded. */
export const RunWarning = Type.Object(
  {
    kind: enumInWords(WARNINGS, { description: 'What is odd. Later releases may add kinds.' }),
    message: Type.String({
      maxLength: MAX_WARNING_MESSAGE,
      description: 'What happened and what to do, for people.',
      examples: ['Node 9 "Save" (SaveImage) made no output.'],
    }),
    node: Type.Optional(
      Type.String({
        maxLength: MAX_ERROR_NAME,
        description: 'The node of the workflow; only present when it is about one.',
        examples: ['9'],
      }),
    ),
  },
  { title: 'RunWarning', description: 'What is odd about a run that has succeeded.' },
);
export type RunWarning = Readonly<Static<typeof RunWarning>>;
