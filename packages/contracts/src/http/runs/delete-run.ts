import { Type, type Static } from 'typebox';
import { ErasedContent } from '../../events/run-event-data.ts';
import { enumInWords } from '../../words/in-words.ts';
import { KeyUuid, RunUuid, UserUuid } from '../fields/ids.ts';
import { CreatedAt, time } from '../fields/values.ts';

export const DeleteRunResponse = Type.Object(
  {
    run_id: RunUuid,
    outcome: Type.Literal('deleted', { description: 'Always `deleted`: nobody is shown the run any more.' }),
  },
  { title: 'DeleteRunResponse', description: 'The run is deleted.' },
);
export type DeleteRunResponse = Static<typeof DeleteRunResponse>;

export const DeleteOutputsResponse = Type.Object(
  {
    run_id: RunUuid,
    outcome: enumInWords(
      { deleted: 'This request deleted them.', already_deleted: 'An earlier request deleted them.' },
      { description: 'What became of the outputs.' },
    ),
  },
  { title: 'DeleteOutputsResponse', description: 'The outputs of the run are deleted.' },
);
export type DeleteOutputsResponse = Static<typeof DeleteOutputsResponse>;

export const Tombstone = Type.Object(
  {
    run_id: RunUuid,
    number: Type.Integer({
      minimum: 1,
      description: 'The number of the run, as the run had it.',
      examples: [4711],
    }),
    created_at: CreatedAt,
    deleted_at: time('When it was deleted.'),
    deleted_by: Type.Object(
      {
        user_id: { ...UserUuid, description: 'The user of the API key.' },
        key_id: { ...KeyUuid, description: 'The API key of the request.' },
      },
      { description: 'Who deleted it.' },
    ),
    state: enumInWords(
      {
        erasing: 'Something of it is still to be erased.',
        erased: 'The files, logs and blobs of the run are gone, except content that another run has too.',
      },
      { description: 'Whether everything is erased.' },
    ),
    erases: { ...ErasedContent, description: 'What the run had outside of its facts, which is erased.' },
  },
  { title: 'Tombstone', description: 'What is left of a deleted run.' },
);
export type Tombstone = Static<typeof Tombstone>;
