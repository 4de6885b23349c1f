import { Type, type Static } from 'typebox';
import { ErasedContent } from '../../events/run-event-data.ts';
import { Time, Uuid } from '../fields/values.ts';

export const DeleteRunResponse = Type.Object(
  { run_id: Uuid, outcome: Type.Literal('deleted') },
  { title: 'DeleteRunResponse' },
);
export type DeleteRunResponse = Static<typeof DeleteRunResponse>;

export const DeleteOutputsResponse = Type.Object(
  {
    run_id: Uuid,
    outcome: Type.Enum(['deleted', 'already_deleted'], {
      description: '`already_deleted`: an earlier request deleted them.',
    }),
  },
  { title: 'DeleteOutputsResponse' },
);
export type DeleteOutputsResponse = Static<typeof DeleteOutputsResponse>;

export const Tombstone = Type.Object(
  {
    run_id: Uuid,
    number: Type.Integer({ minimum: 1 }),
    created_at: Time,
    deleted_at: Time,
    deleted_by: Type.Object({
      user_id: Uuid,
      key_id: Type.Union([Uuid, Type.Null()], {
        description: 'The API key of the request; null for a deletion by an earlier release.',
      }),
    }),
    state: Type.Enum(['erasing', 'erased'], {
      description:
        '`erased`: the files, logs and blobs of the run are gone, except content that another run has too.',
    }),
    erases: Type.Union([ErasedContent, Type.Null()], {
      description: 'What the run had outside of its facts; null for a deletion by an earlier release.',
    }),
  },
  { title: 'Tombstone' },
);
export type Tombstone = Static<typeof Tombstone>;
