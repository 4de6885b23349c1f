import { Type } from 'typebox';
import { MAX_RUNNER_URL } from '../limits.ts';
import { optional } from '../http/fields/optional.ts';
import type { RunnerKind } from './runner-kind.ts';

const choice = Type.Object({ kind: Type.Literal('comfyui'), url: Type.Optional(Type.String()) });

const runner = Type.Object(
  {
    kind: Type.Literal('comfyui', { description: 'A ComfyUI server.' }),
    url: optional(
      Type.String({
        format: 'uri',
        examples: ['http://127.0.0.1:8188'],
        pattern: '^[hH][tT][tT][pP][sS]?://[^/?#@]+(?:[/?#]|$)',
        maxLength: MAX_RUNNER_URL,
        description:
          'Only the server with this address may execute its runs: an absolute http or https URL that the executor has in its settings.',
        'x-refusal': {
          type: 'url_parsing',
          msg: `Input should be a valid URL: absolute, http or https, without credentials, of at most ${MAX_RUNNER_URL} characters`,
        },
      }),
      'Any server when it is null or omitted.',
    ),
  },
  { title: 'ComfyuiRunner', description: 'Executes a workflow with a ComfyUI server of the executor.' },
);

/** Executes a workflow with a ComfyUI server of the executor's own settings. */
export const comfyui: RunnerKind<typeof choice, typeof runner> = {
  choice,
  runner,
  choiceOf: ({ kind, url }) => ({ kind, ...(typeof url === 'string' ? { url } : {}) }),
  capability: () => 'runner:comfyui',
  label: ({ url }) => (url ? `comfyui ${url}` : 'comfyui'),
  offers: () => 'runs ComfyUI workflows',
  requirement: () => 'has ComfyUI servers',
  setting: 'EXECUTOR_COMFYUI',
};
