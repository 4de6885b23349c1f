/** Failed sign-ins with one e-mail, or from one address, that are not forgotten yet. */
export interface FailedSignIns {
  readonly failures: number;
  /** When the last one began, in milliseconds since 1970, by the broker's clock. */
  readonly at: number;
}

const MS = 1_000;
const FIRST_WAIT_S = 5;
/** Shorter than the counts are kept. */
const LONGEST_WAIT_S = 60;

/** The whole seconds to wait after so many failures: none while `free` were not used up, then 5, 10, 20 and so on, 60 at most. */
export const waitS = (failures: number, free: number): number =>
  failures < free ? 0 : Math.min(FIRST_WAIT_S * 2 ** (failures - free), LONGEST_WAIT_S);

/** The whole seconds that are left to wait at a time; 0 when another try may begin. */
export const waitLeftS = ({ failures, at }: FailedSignIns, now: number, free: number): number =>
  Math.max(0, Math.ceil((at + waitS(failures, free) * MS - now) / MS));
