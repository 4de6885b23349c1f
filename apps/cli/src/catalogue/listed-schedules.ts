import { Schedule, SchedulePage } from '@runledger/contracts/http/catalogue/schedules';
import { idByName } from './named-records.ts';
import type { RecordKind } from './records.ts';

const listed: Pick<RecordKind<Schedule>, 'what' | 'path' | 'readPage'> = {
  what: 'Schedule',
  path: '/schedules',
  readPage: async (call, request) => {
    const page = await call(SchedulePage, request);
    return { ...page, items: page.schedules };
  },
};

/** How schedules are read and found, also by options that name one. */
export const listedSchedules: Pick<RecordKind<Schedule>, 'what' | 'path' | 'readPage' | 'idOf' | 'send'> = {
  ...listed,
  idOf: idByName(listed),
  send: (call, request) => call(Schedule, request),
};
