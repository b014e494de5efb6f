import { type TapBatch, type TapControl, TapRing } from './events.ts';
import type { MessageEffect, MessageRule } from './faults/rule.ts';
import { expectKnown, MessageRules } from './faults/rules.ts';

export class TapRecord implements TapControl {
  protected readonly ring = new TapRing();
  protected readonly rules = new MessageRules();

  beginMessages(id: string, rule: MessageRule): Promise<void> {
    expectKnown(rule);
    this.rules.begin(id, rule);
    return Promise.resolve();
  }

  messageEffect(id: string): Promise<MessageEffect> {
    return Promise.resolve(this.rules.effect(id));
  }

  endMessages(id: string): Promise<void> {
    this.rules.end(id);
    return Promise.resolve();
  }

  tapped(after: number, raw?: boolean): Promise<TapBatch> {
    return this.ring.tapped(after, raw);
  }
}
