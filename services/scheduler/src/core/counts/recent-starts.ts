import type { GpuModel } from '@runledger/contracts/gpu';
import type { OrgId } from '@runledger/contracts/ids';

const MINUTES = 10;
const MINUTE_MS = 60_000;

/** By GPU model and organisation: how many runs got a slot in each of the last ten minutes of the broker's clock. */
export class RecentStarts {
  readonly #byGpu = new Map<GpuModel, Map<string, CountByMinute>>();
  /** The latest minute. */
  #minute = 0;

  add({ gpu, org_id }: { readonly gpu: GpuModel; readonly org_id: OrgId }, atMs: number): void {
    const minute = minuteOf(atMs);
    if (minute <= this.#minute - MINUTES) return;
    if (minute > this.#minute) this.#forgetBefore(minute);
    const byOrg = this.#byGpu.get(gpu) ?? new Map<string, CountByMinute>();
    this.#byGpu.set(gpu, byOrg);
    const counts = byOrg.get(org_id) ?? new CountByMinute();
    byOrg.set(org_id, counts);
    counts.add(minute);
  }

  /** Of one organisation, or of all. `nowMs` is the broker's clock. */
  perMinute(gpu: GpuModel, org_id: string | null, nowMs: number): number {
    const now = Math.max(nowMs, this.#minute * MINUTE_MS);
    const byOrg = this.#byGpu.get(gpu);
    const of = org_id === null ? [...(byOrg?.values() ?? [])] : [byOrg?.get(org_id)];
    const started = of.reduce((sum, counts) => sum + (counts?.upTo(minuteOf(now)) ?? 0), 0);
    // The present minute has only begun.
    const minutes = now / MINUTE_MS - minuteOf(now) + MINUTES - 1;
    return Math.round((started / minutes) * 100) / 100;
  }

  /** Organisations and models come and go. */
  #forgetBefore(minute: number): void {
    this.#minute = minute;
    for (const [gpu, byOrg] of this.#byGpu) {
      for (const [org_id, counts] of byOrg) if (counts.upTo(minute) === 0) byOrg.delete(org_id);
      if (byOrg.size === 0) this.#byGpu.delete(gpu);
    }
  }
}

class CountByMinute {
  readonly #counts = new Map<number, number>();

  add(minute: number): void {
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + 1);
    for (const before of this.#counts.keys()) if (before <= minute - MINUTES) this.#counts.delete(before);
  }

  /** In the minutes that end with this one. */
  upTo(minute: number): number {
    let sum = 0;
    for (const [at, count] of this.#counts) if (at > minute - MINUTES) sum += count;
    return sum;
  }
}

const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS);
