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
      key_id: Type.String({ format: 'uuid', description: 'The API key of the request.' }),
    }),
    state: Type.Enum(['erasing', 'erased'], {
      description:
        '`erased`: the files, logs and blobs of the run are gone, except content that another run has too.',
    }),
    erases: ErasedContent,
  },
  { title: 'Tombstone' },
);
export type Tombstone = Static<typeof Tombstone>;
