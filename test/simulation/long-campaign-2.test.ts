import { testPart } from './long-campaign.js'

testPart(2)
