import { Schedule } from '@runledger/contracts/catalogue/schedules';
import { perLog } from '@runledger/event-log/connect/per-log';
import { openTables } from '@runledger/event-log/table/table';
import { listed, openRecords, type Records } from './catalogue/records.ts';

export type ScheduleRecords = Records<Schedule>;

export const SCHEDULES = { bucket: 'SCHEDULES', prefix: 'schedules', schema: Schedule } as const;

/** The schedules of all organisations, as operations read and change them. */
export const scheduleRecords = perLog((log): ScheduleRecords =>
  openRecords(openTables(log, { ...SCHEDULES, ...listed<Schedule>() }), SCHEDULES.prefix),
);

/** The subjects of those of an organisation. */
export const schedulesOf = (org_id: string): string => `$KV.SCHEDULES.${SCHEDULES.prefix}.${org_id}.>`;

/** The organisation in the key of a schedule. */
export const orgOfKey = (key: string): string => key.split('.')[1] ?? '';
