import { Type, type Static } from 'typebox';
import { enumInWords, Json, JsonRecord, nullable, type InWords } from '../../schemas.ts';
import type { JsonValue } from '../../json.ts';
import { RunUuid, time, Uuid } from '../fields.ts';

export const MediaItem = Type.Object(
  {
    url: Type.String({
      description:
        'Its address. It needs no API key, since it cannot be guessed. It may expire, if the installation says so: read the run again for another one.',
      examples: ['http://127.0.0.1:8080/outputs/4fPz1n0gkq6w2a7Zr5tVYQ/ComfyUI_00001_.png'],
    }),
    type: enumInWords(
      { output: 'An output.', temp: 'A file that ComfyUI calls temporary, such as a preview.' },
      { description: 'What kind of file it is, in the words of ComfyUI.' },
    ),
    filename: Type.String({
      description: 'Its name, without folders.',
      examples: ['ComfyUI_00001_.png'],
    }),
    is_public: Type.Boolean({
      description: 'Whether `url` needs no API key: always true.',
      examples: [true],
    }),
    subfolder: Type.String({
      description: 'Its folder below the output folder of the run, with slashes; empty for none.',
      examples: ['portraits'],
    }),
    upload_duration: Type.Number({
      description: 'Seconds that it took to store the file.',
      examples: [0.412],
    }),
    content_type: Type.String({ description: 'Its MIME type.', examples: ['image/png'] }),
  },
  { title: 'MediaItem', description: 'An output file.' },
);
export type MediaItem = Static<typeof MediaItem>;

/** Texts and files by kind, and JSON values under `json`. */
export type OutputData = Record<string, (string | MediaItem)[]> & { json?: JsonValue[] };

const OutputData = Type.Unsafe<OutputData>(
  Type.Object(
    {
      json: Type.Optional(
        Type.Array(Json, {
          description: 'Values of any type, as they are; only present when there are any.',
          examples: [[{ label: 'fox', box: [12, 40, 96, 88] }]],
        }),
      ),
    },
    {
      additionalProperties: Type.Array(
        Type.Union([Type.String(), MediaItem], {
          description: 'A text, or a file.',
          examples: ['a red fox in the snow'],
        }),
      ),
      title: 'OutputData',
      description:
        'Texts and files by kind: images, files, gifs, text and others. The kind `json` has JSON values.',
      examples: [{ text: ['a red fox in the snow'] }],
    },
  ),
);

export const OutputItem = Type.Object(
  {
    id: { ...Uuid, description: 'The id of this item.' },
    run_id: RunUuid,
    output_id: Type.String({
      description: 'What the item is called in its run, such as the id of the node that made it.',
      examples: ['9'],
    }),
    data: OutputData,
    node_meta: nullable(
      {
        ...JsonRecord,
        description: 'What the workflow says about the node.',
        examples: [{ title: 'Save Image' }],
      },
      'Null when it says nothing.',
    ),
    created_at: time('When the run ended.'),
    updated_at: time('The same as `created_at`: an output does not change.'),
    type: nullable(
      Type.String({ description: 'The kind of the node.', examples: ['SaveImage'] }),
      'Null when no node made it.',
    ),
    node_id: nullable(
      Type.String({ description: 'The id of the node.', examples: ['9'] }),
      'Null when no node made it.',
    ),
  },
  { title: 'OutputItem', description: 'One item of the outputs of a run.' },
);
export type OutputItem = Static<typeof OutputItem>;

/** Which members of a run may be lost or deleted, and why. */
const MISSING_MEMBERS = {
  workflow_inputs: 'The inputs of the run.',
  workflow_api: 'The workflow of its version.',
  outputs: 'The list of its outputs.',
} as const satisfies InWords<string>;

const MISSING_REASONS = {
  gone: 'It has expired, as inputs and lists of outputs over 4 KiB do after 90 days by default.',
  damaged: 'What is stored is not what was stored.',
  deleted: 'A request deleted them.',
} as const satisfies InWords<string>;

export const MissingMember = Type.Object(
  {
    member: enumInWords(MISSING_MEMBERS, { description: 'The member of the run that is missing.' }),
    reason: enumInWords(MISSING_REASONS, { description: 'Why it is missing.' }),
  },
  { title: 'MissingMember', description: 'A member of a run that is lost or deleted.' },
);
export type MissingMember = Static<typeof MissingMember>;
